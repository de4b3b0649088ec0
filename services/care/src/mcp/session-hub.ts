/** How an accepted write reaches sessions: a version's frames, who gets which, and how they reach the open streams. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '@tallystick/service-kit'
import type { CareRecord } from '../domain/care-record.ts'
import type { SessionHub } from '../domain/publish-record.ts'
import { mayRead } from '../domain/scopes.ts'
import type { SessionStore } from '../domain/session-store.ts'
import type { UnheardCorrections } from '../domain/unheard-corrections.ts'
import { LOG_LEVELS, type LogLevel } from '../wire/mcp.ts'
import { type ChainSlot, chainUri } from '../wire/record-uri.ts'
import type { Audience, RevisionNotice } from '../wire/records.ts'
import type { Listens } from './listens.ts'
import type { ReplayBuffer } from './replay-buffer.ts'
import type { McpSession, SessionRegistry } from './session-registry.ts'

/** Sessions written to before other work runs. */
const FAN_OUT_SLICE = 500
/** The level of a revision notice: normal but significant (RFC 5424). */
const NOTICE_LEVEL: LogLevel = 'notice'
/** Names and labels in a notice are cut to this many characters, so that rings of notices stay small. */
const LABEL_CHARS_MAX = 256

const cutOff = (label: string): string =>
  label.length > LABEL_CHARS_MAX ? `${label.slice(0, LABEL_CHARS_MAX).toWellFormed()}…` : label

/** Whether a session's log level lets a revision notice through; without a level everything is sent. */
function letsNoticeThrough(logLevel: LogLevel | undefined): boolean {
  return logLevel === undefined || LOG_LEVELS.indexOf(logLevel) <= LOG_LEVELS.indexOf(NOTICE_LEVEL)
}

export function updatedMessage(chain: ChainSlot): object {
  return {
    jsonrpc: '2.0',
    method: 'notifications/resources/updated',
    params: { uri: chainUri(chain) },
  }
}

const LIST_CHANGED = { jsonrpc: '2.0', method: 'notifications/resources/list_changed' }

export function noticeMessage(options: {
  readonly serviceName: string
  readonly record: CareRecord
  readonly previous: CareRecord | undefined
}): object {
  const { serviceName, record, previous } = options
  const { version, versionHash, prevHash, writtenAt, authorId, authorLabel } = record
  const data: RevisionNotice = {
    uri: chainUri(record),
    version,
    previousVersion: version > 1 ? version - 1 : null,
    valueChanged: previous === undefined || previous.value !== record.value,
    versionHash,
    prevHash,
    writtenAt,
    authorId: cutOff(authorId),
    authorLabel: cutOff(authorLabel),
    staleAfter: record.staleAfter,
    priority: record.priority,
  }
  return {
    jsonrpc: '2.0',
    method: 'notifications/message',
    params: { level: NOTICE_LEVEL, logger: `${serviceName}/revisions`, data },
  }
}

/** Writes to sessions' streams, in slices that yield to the event loop. */
async function pumpAll(sessions: Iterable<McpSession>): Promise<void> {
  let count = 0
  for (const session of sessions) {
    if (session.stream === undefined) continue
    if (count > 0 && count % FAN_OUT_SLICE === 0) await nextTurn()
    count += 1
    session.stream?.pump()
  }
}

export type SubscribersHub = SessionHub & {
  /** Tells the subscribers of chains that were freed to read again: nothing is there now (C47). */
  withdrawn(chains: readonly ChainSlot[]): Promise<void>
}

/**
 * Frames are stored for every session that may receive them by its last scopes, whether its token expired or not (C4).
 * They are sent only once stored: no client ever holds an event id that a restart would not know.
 */
export function createSessionHub(deps: {
  readonly serviceName: string
  readonly registry: SessionRegistry
  readonly replay: ReplayBuffer
  readonly store: SessionStore
  /** Resolves when saved state is stored, or the failure to store it was reported. */
  readonly flush: () => Promise<void>
  readonly clock: Clock
  readonly unheard: Pick<UnheardCorrections, 'written'>
  /** Those who listen without a session. */
  readonly listens: Pick<Listens, 'publish'>
  /** Called when a record's frames have been written to every open stream entitled to them, with how long that took. */
  readonly onFannedOut: (audience: Audience, seconds: number) => void
}): SubscribersHub {
  const { clock, listens, serviceName, registry, replay, store, flush, onFannedOut, unheard } = deps
  return {
    async publish(record, previous) {
      const startedMs = clock.unixMs()
      const about = chainUri(record)
      unheard.written(record, previous)
      const subscribed = [...registry.subscriptions.of(about)]
      const knowing = [...registry.all()].filter(({ scopes }) => mayRead(scopes, record))
      replay.add({ message: updatedMessage(record), about, recipients: subscribed })
      const heeding = knowing.filter(({ logLevel }) => letsNoticeThrough(logLevel))
      const notice = noticeMessage({ serviceName, record, previous })
      replay.add({ message: notice, about, recipients: heeding })
      if (record.version === 1) replay.add({ message: LIST_CHANGED, about, recipients: knowing })
      store.save([{ kind: 'published', uri: about, version: record.version }])
      await flush()
      // Every subscriber is among the sessions that may know: a subscription is lost with its scope.
      void pumpAll(subscribed)
        .then(() => pumpAll(knowing))
        .then(() => onFannedOut(record.audience, (clock.unixMs() - startedMs) / 1_000))
      return subscribed.length + listens.publish(record)
    },
    async withdrawn(chains) {
      const notified = new Set<McpSession>()
      for (const chain of chains) {
        const about = chainUri(chain)
        const subscribed = [...registry.subscriptions.of(about)]
        replay.add({ message: updatedMessage(chain), about, recipients: subscribed })
        for (const session of subscribed) notified.add(session)
        listens.publish({ ...chain, version: 0 })
        // They know that nothing is there, so a start tells them of a first version that a kill kept from them.
        store.save([{ kind: 'published', uri: about, version: 0 }])
      }
      await flush()
      await pumpAll(notified)
    },
    silent: (uri) => registry.silent(uri).length,
    sessions: () => registry.count,
  }
}
