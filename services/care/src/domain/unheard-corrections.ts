/**
 * Corrections of speakable records that nobody has heard yet (C29). One counts as heard once a stream has carried its notice,
 * or its newest version was read with a token that does not write. If it goes unheard for too long it becomes an alert, once
 * per process, and stays in the list until it is heard.
 */
import { chainUri } from '../wire/record-uri.ts'
import type { CareRecord } from './care-record.ts'
import type { SessionStore, StoredUnheard } from './session-store.ts'

/** Corrections remembered, about 3 MB. Beyond that the oldest is forgotten: its alert was raised long ago. */
const UNHEARD_MAX = 10_000

/** A session that would hear of none now (C36): whose it is, since when it has no stream, and every URI that it follows. */
export type SilentFollower = {
  readonly sub: string
  /** Unix milliseconds. */
  readonly sinceMs: number
  readonly uris: readonly string[]
}

export type UnheardCorrections = ReturnType<typeof createUnheardCorrections>

export function createUnheardCorrections(deps: {
  readonly clock: { unixMs(): number; after(ms: number, run: () => void): () => void }
  /** How long a correction may go unheard before it is an alert, milliseconds; 0 for never. */
  readonly waitMs: number
  readonly store: Pick<SessionStore, 'save'>
  readonly onAlert: (correction: StoredUnheard) => void
}) {
  const { clock, onAlert, store, waitMs } = deps
  /** In the order in which they were first unheard. */
  const waiting = new Map<string, StoredUnheard>()
  /** URIs of those that are an alert. */
  const alerts = new Set<string>()
  let cancelTimer: (() => void) | undefined

  const arm = (): void => {
    if (cancelTimer !== undefined) return
    const next = [...waiting.values()].find(({ uri }) => !alerts.has(uri))
    if (next === undefined) return
    cancelTimer = clock.after(Math.max(0, next.sinceMs + waitMs - clock.unixMs()), () => {
      cancelTimer = undefined
      for (const one of waiting.values()) {
        if (alerts.has(one.uri) || one.sinceMs + waitMs > clock.unixMs()) continue
        alerts.add(one.uri)
        onAlert(one)
      }
      arm()
    })
  }
  const forget = (uri: string): void => {
    alerts.delete(uri)
    if (waiting.delete(uri)) store.save([{ kind: 'heard', uri }])
  }
  const stop = (): void => {
    cancelTimer?.()
    cancelTimer = undefined
  }

  return {
    /** A version was written. An earlier correction of the same record that went unheard keeps its start time. */
    written(record: CareRecord, previous: CareRecord | undefined): void {
      const isCorrection = previous !== undefined && previous.value !== record.value
      if (waitMs === 0 || record.audience !== 'user' || !isCorrection) return
      const uri = chainUri(record)
      const sinceMs = waiting.get(uri)?.sinceMs ?? clock.unixMs()
      const unheard = { uri, version: record.version, sinceMs }
      waiting.set(uri, unheard)
      store.save([{ kind: 'unheard', unheard }])
      const [oldest] = waiting.keys()
      if (waiting.size > UNHEARD_MAX && oldest !== undefined) forget(oldest)
      arm()
    },
    /** Somebody has heard that a record changed, or read its newest version. */
    heard: forget,
    /** Takes over an earlier process's corrections; overdue ones raise an alert again. */
    restore(left: readonly StoredUnheard[]): void {
      if (waitMs === 0) return
      const inOrder = left.toSorted((first, second) => first.sinceMs - second.sinceMs)
      for (const one of inOrder) waiting.set(one.uri, one)
      arm()
    },
    /** Those that raised an alert, the oldest first. */
    alerted: (): readonly StoredUnheard[] =>
      [...waiting.values()].filter(({ uri }) => alerts.has(uri)),
    stop,
  }
}
