import type { CareRecord } from '../domain/care-record.ts'
import { LOG_LEVELS, type LogLevel } from '../domain/session-store.ts'
import { chainUri } from '../wire/record-uri.ts'

/** The level of a revision notice: normal but significant (RFC 5424). */
const NOTICE_LEVEL: LogLevel = 'notice'

/** Names and labels in a notice are cut at this many characters, so that rings of notices stay small. */
const LABEL_CHARS_MAX = 256

const cutOff = (label: string): string =>
  label.length > LABEL_CHARS_MAX ? `${label.slice(0, LABEL_CHARS_MAX).toWellFormed()}…` : label

/** Whether a session's log level lets a revision notice through; without a level everything is sent. */
export function letsNoticeThrough(logLevel: LogLevel | undefined): boolean {
  return logLevel === undefined || LOG_LEVELS.indexOf(logLevel) <= LOG_LEVELS.indexOf(NOTICE_LEVEL)
}

/** `notifications/resources/updated` for the chain of a record. */
export function updatedMessage(record: CareRecord): object {
  return {
    jsonrpc: '2.0',
    method: 'notifications/resources/updated',
    params: { uri: chainUri(record) },
  }
}

/** `notifications/resources/list_changed`. */
export function listChangedMessage(): object {
  return { jsonrpc: '2.0', method: 'notifications/resources/list_changed' }
}

/**
 * The revision notice on the log channel. It says what changed and by whom, never a value: a notice may be read long after
 * it was sent, and only a read tells what holds then.
 */
export function noticeMessage(options: {
  readonly serviceName: string
  readonly record: CareRecord
  readonly previous: CareRecord | undefined
}): object {
  const { serviceName, record, previous } = options
  const { version, versionHash, prevHash, writtenAt, authorId, authorLabel, priority } = record
  const data = {
    uri: chainUri(record),
    version,
    previousVersion: version > 1 ? version - 1 : null,
    valueChanged: previous === undefined || previous.value !== record.value,
    versionHash,
    prevHash,
    writtenAt,
    authorId: cutOff(authorId),
    authorLabel: cutOff(authorLabel),
    ...(record.staleAfter === undefined ? {} : { staleAfter: record.staleAfter }),
    ...(priority === undefined ? {} : { priority }),
  }
  return {
    jsonrpc: '2.0',
    method: 'notifications/message',
    params: { level: NOTICE_LEVEL, logger: `${serviceName}/revisions`, data },
  }
}
