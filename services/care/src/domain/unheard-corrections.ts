/**
 * Corrections of speakable records that nobody has heard yet (C29). One is heard when a stream has carried its notice, or when
 * the newest version is read by somebody who does not write himself. After a while of silence it is an alert, once in a
 * process, and it stays in the list until it is heard.
 */
import { chainUri } from '../wire/record-uri.ts'
import type { CareRecord } from './care-record.ts'
import type { SessionStore, StoredUnheard } from './session-store.ts'

/** Corrections that are remembered, some 3 MB. Beyond, the oldest is forgotten: its alert was given long ago. */
const UNHEARD_MAX = 10_000

type Waiting = Omit<StoredUnheard, 'uri'> & { isAlerted: boolean }

export type UnheardCorrections = ReturnType<typeof createUnheardCorrections>

export function createUnheardCorrections(deps: {
  readonly clock: { unixMs(): number; after(ms: number, run: () => void): () => void }
  /** Silence after which it is an alert, milliseconds; 0 for none. */
  readonly waitMs: number
  readonly store: Pick<SessionStore, 'save'>
  readonly onAlert: (correction: StoredUnheard) => void
}) {
  const { clock, onAlert, store, waitMs } = deps
  /** In the order in which silence began. */
  const waiting = new Map<string, Waiting>()
  let cancelTimer: (() => void) | undefined

  const shown = (uri: string, { version, sinceMs }: Waiting): StoredUnheard => ({
    uri,
    version,
    sinceMs,
  })
  const arm = (): void => {
    if (cancelTimer !== undefined) return
    const next = [...waiting.values()].find(({ isAlerted }) => !isAlerted)
    if (next === undefined) return
    cancelTimer = clock.after(Math.max(0, next.sinceMs + waitMs - clock.unixMs()), () => {
      cancelTimer = undefined
      for (const [uri, one] of waiting) {
        if (one.isAlerted || one.sinceMs + waitMs > clock.unixMs()) continue
        one.isAlerted = true
        onAlert(shown(uri, one))
      }
      arm()
    })
  }
  const forget = (uri: string): void => {
    if (waiting.delete(uri)) store.save([{ kind: 'heard', uri }])
  }
  const stop = (): void => {
    cancelTimer?.()
    cancelTimer = undefined
  }

  return {
    /** A version was written. Silence over an earlier correction of the same record goes on. */
    written(record: CareRecord, previous: CareRecord | undefined): void {
      const isCorrection = previous !== undefined && previous.value !== record.value
      if (waitMs === 0 || record.audience !== 'user' || !isCorrection) return
      const uri = chainUri(record)
      const { version } = record
      const before = waiting.get(uri)
      const sinceMs = before?.sinceMs ?? clock.unixMs()
      waiting.set(uri, { version, sinceMs, isAlerted: before?.isAlerted ?? false })
      store.save([{ kind: 'unheard', unheard: { uri, version, sinceMs } }])
      const [oldest] = waiting.keys()
      if (waiting.size > UNHEARD_MAX && oldest !== undefined) forget(oldest)
      arm()
    },
    /** Somebody has heard that a record changed, or read its newest version. */
    heard: forget,
    /** Takes over what an earlier process left; what is overdue is an alert again. */
    restore(left: readonly StoredUnheard[]): void {
      if (waitMs === 0) return
      for (const { uri, ...one } of left.toSorted(
        (first, second) => first.sinceMs - second.sinceMs,
      ))
        waiting.set(uri, { ...one, isAlerted: false })
      arm()
    },
    /** Those that are an alert, the oldest first. */
    alerted: (): readonly StoredUnheard[] =>
      [...waiting].filter(([, { isAlerted }]) => isAlerted).map(([uri, one]) => shown(uri, one)),
    stop,
  }
}
