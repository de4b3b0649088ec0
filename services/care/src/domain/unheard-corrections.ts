/**
 * Corrections of speakable records that nobody has heard yet (C29). One counts as heard once a stream has carried its notice,
 * or its newest version was read with a token that does not write. If it goes unheard for too long it becomes an alert, once
 * per process, and stays in the list until it is heard. How far the journals were judged is kept with them, so that a kill
 * between a commit and its judgement loses none.
 */
import { parseIsoTime } from '@tallystick/service-kit/clock'
import { chainUri } from '../wire/record-uri.ts'
import type { CareRecord } from './care-record.ts'
import { placeBehind, type RecordStore } from './record-store.ts'
import type { RestoredSessions, SessionStore, StoredUnheard } from './session-store.ts'

/** Corrections remembered, about 3 MB. Beyond that the oldest is forgotten: its alert was raised long ago. */
export const UNHEARD_MAX = 10_000

/** Versions judged in one go at a start. */
const PAGE_VERSIONS = 256

/** A session that would hear of none now (C36): whose it is, since when it has no stream, and every URI that it follows. */
export type SilentFollower = {
  readonly sub: string
  /** Unix milliseconds. */
  readonly sinceMs: number
  readonly uris: readonly string[]
}

type ReadRecords = Pick<RecordStore, 'behind' | 'revisions'>

/** Versions of speakable records from a place to before another one, in the order of commits. */
export async function* speakableFrom(from: number, to: number, { behind, revisions }: ReadRecords) {
  for (let next = from; next < to; ) {
    const range = { from: next, to, limit: PAGE_VERSIONS }
    const versions = await behind({ reach: [{ audience: 'user' }], ...range })
    for (const [at, revision] of (await revisions(versions)).entries()) {
      const { place } = versions[at] ?? { place: to }
      if (revision !== undefined) yield { ...revision, place }
    }
    const last = versions.at(-1)
    next = versions.length < PAGE_VERSIONS || last === undefined ? to : last.place + 1
  }
}

/** Whether a version takes back what its record said before. */
export const isCorrection = (record: CareRecord, previous: CareRecord | undefined): boolean =>
  record.audience === 'user' && previous !== undefined && previous.value !== record.value

/** A correction as it is kept until somebody hears it. */
export const waitingCorrection = (record: CareRecord, sinceMs: number): StoredUnheard => ({
  uri: chainUri(record),
  version: record.version,
  sinceMs,
  language: record.language,
})

export type UnheardCorrections = {
  /** A version was written here. An earlier correction of the same record that went unheard keeps its start time. */
  readonly written: (record: CareRecord, previous: CareRecord | undefined, place: number) => void
  /** Somebody has heard that a record changed, or read its newest version; without a version, there is none any more. */
  readonly heard: (uri: string, version?: number) => void
  /** Takes over an earlier process's corrections, and those that it had not judged; overdue ones raise an alert again. */
  restore(
    left: Pick<RestoredSessions, 'unheard' | 'judgedTo'>,
    records: ReadRecords & Pick<RecordStore, 'journals'>,
  ): Promise<void>
  /** Those that raised an alert, the oldest first. */
  alerted(): readonly StoredUnheard[]
  stop(): void
}

export function createUnheardCorrections(deps: {
  readonly clock: { unixMs(): number; after(ms: number, run: () => void): () => void }
  /** How long a correction may go unheard before it is an alert, milliseconds; 0 for never. */
  readonly waitMs: number
  readonly store: Pick<SessionStore, 'save'>
  readonly onAlert: (correction: StoredUnheard) => void
}): UnheardCorrections {
  const { clock, onAlert, store, waitMs } = deps
  /** In the order in which they were first unheard. */
  const waiting = new Map<string, StoredUnheard>()
  /** URIs of those that are an alert. */
  const alerts = new Set<string>()
  let cancelTimer: (() => void) | undefined
  let judgedTo = 0

  const arm = (): void => {
    if (cancelTimer !== undefined) return
    const next = [...waiting.values()].find(({ uri }) => !alerts.has(uri))
    if (next === undefined) return
    cancelTimer = clock.after(Math.max(0, next.sinceMs + waitMs - clock.unixMs()), () => {
      cancelTimer = undefined
      for (const correction of waiting.values()) {
        if (alerts.has(correction.uri) || correction.sinceMs + waitMs > clock.unixMs()) continue
        alerts.add(correction.uri)
        onAlert(correction)
      }
      arm()
    })
  }
  const judged = () => ({ kind: 'judged', place: judgedTo }) as const
  const forget = (uri: string): void => {
    alerts.delete(uri)
    if (waiting.delete(uri)) store.save([{ kind: 'heard', uri }, judged()])
  }
  const stop = (): void => {
    cancelTimer?.()
    cancelTimer = undefined
  }

  const written = (record: CareRecord, previous: CareRecord | undefined, place: number): void => {
    judgedTo = Math.max(judgedTo, place + 1)
    if (waitMs === 0 || !isCorrection(record, previous)) return
    const uri = chainUri(record)
    const sinceMs = waiting.get(uri)?.sinceMs ?? parseIsoTime(record.writtenAt) ?? clock.unixMs()
    const unheard = waitingCorrection(record, sinceMs)
    waiting.set(uri, unheard)
    store.save([{ kind: 'unheard', unheard }, judged()])
    const [oldest] = waiting.keys()
    if (waiting.size > UNHEARD_MAX && oldest !== undefined) forget(oldest)
    arm()
  }

  return {
    written,
    heard: forget,
    async restore(left, records) {
      const to = placeBehind(records.journals)
      judgedTo = waitMs === 0 ? to : Math.min(left.judgedTo ?? to, to)
      if (waitMs > 0) {
        const inOrder = left.unheard.toSorted((first, second) => first.sinceMs - second.sinceMs)
        for (const correction of inOrder) waiting.set(correction.uri, correction)
      }
      for await (const { place, previous, record } of speakableFrom(judgedTo, to, records))
        written(record, previous, place)
      judgedTo = to
      store.save([judged()])
      arm()
    },
    alerted: (): readonly StoredUnheard[] =>
      [...waiting.values()].filter(({ uri }) => alerts.has(uri)),
    stop,
  }
}
