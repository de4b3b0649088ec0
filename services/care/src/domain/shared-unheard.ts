/**
 * Corrections that nobody has heard yet (C29), where several processes serve the records. The holder of the lease judges the journal,
 * each version once and in order, and raises the alerts; every process tells what was heard there. What is waiting is rows, of
 * which each process has a copy that is a second old at most. A version may be heard before it is judged, so what was heard here
 * is remembered.
 */
import type { Lease } from '@tallystick/journal-store'
import { BoundedMap, type Clock, parseIsoTime } from '@tallystick/service-kit'
import { placeBehind, type RecordStore } from './record-store.ts'
import type { StoredUnheard } from './session-store.ts'
import {
  isCorrection,
  speakableFrom,
  UNHEARD_MAX,
  type UnheardCorrections,
  waitingCorrection,
} from './unheard-corrections.ts'

/** How often rows are looked at, milliseconds: what somebody heard elsewhere is out of the list within it. */
const LOOK_MS = 1_000
/** Versions heard here that may still have to be judged: many minutes of them, some 2 MB. */
const HEARD_MAX = 10_000

/** The port of the rows. Everything rejects with `RecordStoreUnavailable`. */
export type UnheardRows = {
  read(): Promise<{
    readonly waiting: readonly StoredUnheard[]
    /** Before it everything is judged; undefined before the first time. */
    readonly judgedTo: number | undefined
  }>
  /** Adds corrections, newer ones of the same record with the time of the first, under the lease. */
  judge(
    found: { readonly corrections: readonly StoredUnheard[]; readonly judgedTo: number },
    epoch: number,
  ): Promise<void>
  /** Removes a record's correction, unless it is newer. */
  heard(uri: string, version: number): Promise<void>
}

type Deps = {
  readonly clock: Pick<Clock, 'unixMs' | 'after'>
  readonly lease: Pick<Lease, 'epoch'>
  readonly rows: UnheardRows
  readonly records: Pick<RecordStore, 'behind' | 'revisions' | 'journals'>
  /** How long a correction may go unheard before it is an alert, milliseconds; 0 for never. */
  readonly waitMs: number
  readonly onAlert: (correction: StoredUnheard) => void
  readonly onFailure: (error: unknown) => void
}

/** Judges the journal behind what was judged last. */
async function judge({ clock, records, rows }: Deps, epoch: number): Promise<void> {
  const to = placeBehind(records.journals)
  const { judgedTo } = await rows.read()
  if (judgedTo !== undefined && judgedTo >= to) return
  const corrections: StoredUnheard[] = []
  for await (const { previous, record } of speakableFrom(judgedTo ?? to, to, records)) {
    const sinceMs = parseIsoTime(record.writtenAt) ?? clock.unixMs()
    if (isCorrection(record, previous)) corrections.push(waitingCorrection(record, sinceMs))
  }
  await rows.judge({ corrections, judgedTo: to }, epoch)
}

export function createSharedUnheard(deps: Deps): UnheardCorrections {
  const { clock, lease, onAlert, onFailure, rows, waitMs } = deps
  let waiting: readonly StoredUnheard[] = []
  const heardHere = new BoundedMap<string, number>(HEARD_MAX)
  /** Under this holding, these were raised. */
  let raised: { readonly epoch: number; readonly uris: Set<string> } | undefined
  let cancelLook: (() => void) | undefined
  let isStopped = false

  const isDue = ({ sinceMs }: StoredUnheard): boolean => sinceMs + waitMs <= clock.unixMs()
  const isHeard = ({ uri, version }: StoredUnheard): boolean => (heardHere.get(uri) ?? 0) >= version

  /** An earlier holder may have died before its alert was told: each holder raises all. */
  function raise(epoch: number): void {
    if (raised?.epoch !== epoch) raised = { epoch, uris: new Set() }
    const { uris } = raised
    for (const uri of uris) if (!waiting.some((each) => each.uri === uri)) uris.delete(uri)
    for (const each of waiting)
      if (isDue(each) && !uris.has(each.uri) && lease.epoch() === epoch) {
        uris.add(each.uri)
        onAlert(each)
      }
  }
  async function look(): Promise<void> {
    const epoch = lease.epoch()
    if (epoch !== undefined) await judge(deps, epoch)
    const found = (await rows.read()).waiting.toSorted(
      (left, right) => left.sinceMs - right.sinceMs,
    )
    const over = [...found.filter(isHeard), ...found.slice(0, -UNHEARD_MAX)]
    for (const { uri, version } of over) await rows.heard(uri, version)
    waiting = found.filter((each) => !over.includes(each) && !isHeard(each))
    if (epoch !== undefined) raise(epoch)
  }
  const lookAgain = (): void => {
    cancelLook = clock.after(LOOK_MS, () => {
      void look()
        .catch((error: unknown) => (isStopped ? undefined : onFailure(error)))
        .finally(() => (isStopped ? undefined : lookAgain()))
    })
  }
  return {
    written: () => undefined,
    heard: (uri, version) => {
      if (version === undefined) {
        waiting = waiting.filter((each) => each.uri !== uri)
        rows.heard(uri, Number.MAX_SAFE_INTEGER).catch(onFailure)
        return
      }
      heardHere.set(uri, Math.max(version, heardHere.get(uri) ?? 0))
      waiting = waiting.filter((each) => each.uri !== uri || each.version > version)
    },
    restore: async () => {
      if (waitMs === 0) return
      await look()
      lookAgain()
    },
    alerted: () => waiting.filter(isDue),
    stop: () => {
      isStopped = true
      cancelLook?.()
    },
  }
}
