/**
 * How one version of a record is shown: its text with its age, and the facts about it. Everything that serves a value
 * (reads, prompts, tools) goes through `readVisible` and these functions, so that a hidden record and an absent one take the
 * same path, and a broken one is never shown.
 */
import type { CareRecord } from '../domain/care-record.ts'
import { isoTimeMs } from '../domain/iso-time.ts'
import { retractionSentence } from '../domain/retraction.ts'
import { ageLine, isStale, type RecordAge } from '../domain/staleness.ts'
import {
  audioUri,
  type ChainSlot,
  chainUri,
  type RecordUri,
  versionUri,
} from '../wire/record-uri.ts'
import { type CallContext, canSee } from './call-context.ts'

/** A version that the caller may see. */
export type VisibleRecord = {
  readonly record: CareRecord
  readonly latestVersion: number
  /** Said before the new value, where version n ≥ 2 changed the value of n−1. */
  readonly retraction?: string
  readonly previousValue?: string
}

export type VisibleOutcome =
  | { readonly kind: 'found'; readonly visible: VisibleRecord }
  /** Not there, or not for this caller: nobody can tell which, neither from the answer nor from what was looked up. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'broken' }

/** The outcome of a store's read as the caller may know it. The store has been asked either way. */
export async function readVisible(context: CallContext, uri: RecordUri): Promise<VisibleOutcome> {
  const { store } = context
  const { slot, version } = uri
  const outcome = await (version === undefined ? store.latest(slot) : store.version(slot, version))
  if (!canSee(context, slot.audience) || outcome.kind === 'absent') return { kind: 'absent' }
  if (outcome.kind === 'broken') return { kind: 'broken' }
  const { record, latestVersion } = outcome
  const previousValue = await valueBefore(context, record)
  const retraction =
    previousValue === undefined ? undefined : retractionSentence({ ...record, previousValue })
  return {
    kind: 'found',
    visible: {
      record,
      latestVersion,
      ...(previousValue === undefined ? {} : { previousValue }),
      ...(retraction === undefined ? {} : { retraction }),
    },
  }
}

/** The value of the version before, where there is one that holds: a broken one is not served by way of a retraction either. */
async function valueBefore(
  { store }: CallContext,
  record: CareRecord,
): Promise<string | undefined> {
  if (record.version < 2) return undefined
  const before = await store.version(record, record.version - 1)
  return before.kind === 'found' ? before.record.value : undefined
}

/** The age of a record at the present moment. */
export function recordAge({ clock }: CallContext, record: CareRecord): RecordAge {
  const { authorLabel, writtenAt, staleAfter } = record
  const nowMs = clock.unixMs()
  return {
    authorLabel,
    writtenAtMs: isoTimeMs(writtenAt) ?? nowMs,
    staleAfterMs: staleAfter === undefined ? undefined : isoTimeMs(staleAfter),
    nowMs,
  }
}

/** The text of a read: value, newline, age line (C10). */
export function recordText(context: CallContext, record: CareRecord): string {
  return `${record.value}\n${ageLine(recordAge(context, record))}`
}

/** MCP's annotations of a record (C11). Priority is clamped to MCP's 0–1; `_meta` has it as written. */
export function recordAnnotations(record: {
  readonly audience: ChainSlot['audience']
  readonly writtenAt: string
  readonly priority?: number | undefined
}): object {
  const { audience, writtenAt, priority } = record
  return {
    audience: [audience],
    lastModified: writtenAt,
    ...(priority === undefined ? {} : { priority: Math.min(1, Math.max(0, priority)) }),
  }
}

/** The `_meta` of a read (C10): every fact about the version, its raw value, and what it corrects. */
export function recordMeta(context: CallContext, visible: VisibleRecord): Record<string, unknown> {
  const { record, latestVersion, retraction } = visible
  const { version, versionHash, prevHash, writtenAt, authorId, authorLabel, value } = record
  return {
    uri: versionUri(record, version),
    version,
    versionHash,
    prevHash,
    writtenAt,
    authorId,
    authorLabel,
    audience: record.audience,
    value,
    stale: isStale(recordAge(context, record)),
    ...(record.staleAfter === undefined ? {} : { staleAfter: record.staleAfter }),
    ...(record.priority === undefined ? {} : { priority: record.priority }),
    ...(version === latestVersion ? {} : { supersededBy: latestVersion }),
    ...(retraction === undefined ? {} : { [`${context.serviceName}/retraction`]: retraction }),
  }
}

/** What a record is called in lists. */
export function recordName({ patient, domain }: ChainSlot): string {
  return `${patient}/${domain}`
}

/** The one spelling of a URI, which reads answer with and subscriptions are kept under. */
export function canonicalUri({ slot, version, isAudio }: RecordUri): string {
  if (version === undefined) return chainUri(slot)
  return isAudio ? audioUri(slot, version) : versionUri(slot, version)
}
