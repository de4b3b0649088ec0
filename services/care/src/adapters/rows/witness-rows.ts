// What the process that shows the journal to witnesses was told, as a row for the others (C9). It counts by its MAC and while it
// is young: whoever alters or removes it makes every process ask for itself.
import type { Lease, WitnessNews, WitnessPush } from '@tallystick/journal-store'
import type { Clock } from '@tallystick/service-kit'
import type { RowMac } from '../keys/row-mac.ts'
import type { SideRows } from './side-rows.ts'

const READ = 'SELECT at_ms AS "atMs", news, mac FROM witness_news'
const KEEP = `INSERT INTO witness_news VALUES (1, $1, $2, $3)
  ON CONFLICT (number) DO UPDATE SET at_ms = excluded.at_ms, news = excluded.news, mac = excluded.mac`

type Row = { readonly atMs: number; readonly news: string; readonly mac: Uint8Array }

type WitnessRows = {
  /** When it was said, and what; undefined if no process of this service said it. */
  read(): Promise<{ readonly atMs: number; readonly news: WitnessNews } | undefined>
  keep(said: { readonly atMs: number; readonly news: WitnessNews }, epoch: number): Promise<void>
}

export const openWitnessRows = (
  side: SideRows,
  mac: RowMac,
  lease: Pick<Lease, 'require'>,
): WitnessRows => ({
  read: async () => {
    const [row] = await side.read<Row>(READ)
    if (row === undefined || !mac.isOwn([row.atMs, row.news], row.mac)) return undefined
    return { atMs: row.atMs, news: JSON.parse(row.news) as WitnessNews }
  },
  keep: async ({ atMs, news }, epoch) => {
    const cells = [atMs, JSON.stringify(news)]
    const values = [...cells, mac.write(cells)]
    await side.transaction(
      (query) => Promise.all([lease.require(query, epoch), query(KEEP, values)]),
      'relaxed',
    )
  },
})

/** How often a process looks at what the others were told, or tells it, milliseconds. */
const LOOK_MS = 1_000
/** How often that is told anew, though nothing has changed, milliseconds. */
const TOLD_MS = 3_000
/** Who hears nothing of that for so long shows the journal itself, milliseconds: as long as a silent process is remembered. */
const SILENT_MS = 10_000

/** Where other processes serve the same records: the holder of the lease shows them. */
export type SharedWitnesses = {
  readonly lease: Pick<Lease, 'epoch' | 'onHeld'>
  readonly rows: WitnessRows
  /** Calls the listener when journals have grown, whoever wrote. Returns what stops it. */
  readonly onGrown: (listener: () => void) => () => void
}

/** Tells the others what came of showing the journal, or hears it of them. */
export function shareNews(
  { lease, onGrown, rows }: SharedWitnesses,
  { clock, onError }: { readonly clock: Clock; readonly onError: (error: unknown) => void },
) {
  let latest = { text: '', atMs: Number.NEGATIVE_INFINITY }
  let heardAtMs = clock.unixMs()
  let cancel: (() => void) | undefined
  let isOver = false
  const look = async (push: WitnessPush): Promise<void> => {
    const atMs = clock.unixMs()
    const epoch = lease.epoch()
    if (epoch === undefined) {
      const said = await rows.read()
      if (said === undefined || Math.abs(atMs - said.atMs) >= SILENT_MS) return
      heardAtMs = Math.min(atMs, said.atMs)
      return push.hear(said.news)
    }
    heardAtMs = atMs
    const news = push.news()
    const text = JSON.stringify(news)
    if (text === latest.text && atMs - latest.atMs < TOLD_MS) return
    await rows.keep({ atMs, news }, epoch)
    latest = { text, atMs }
  }
  const lookLater = (push: WitnessPush): void => {
    cancel = clock.after(LOOK_MS, () => {
      void look(push)
        .catch((error: unknown) => (isOver ? undefined : onError(error)))
        .finally(() => (isOver ? undefined : lookLater(push)))
    })
  }
  return {
    isTurn: () => lease.epoch() !== undefined || clock.unixMs() - heardAtMs >= SILENT_MS,
    /** Begins it; returns what ends it. */
    begin: (push: WitnessPush): (() => void) => {
      const stop = onGrown(() => push.grown())
      lease.onHeld(() => push.grown())
      lookLater(push)
      return () => {
        isOver = true
        stop()
        cancel?.()
      }
    },
  }
}
