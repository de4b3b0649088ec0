// Replays and exports read a journal in slices, between which other work runs.
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { Audience } from '../../wire/audience.ts'
import type { RecordSource } from './record-sql.ts'
import type { ChainRow, VersionRow } from './stored-record.ts'

/** Versions in a slice: half a millisecond in the clear and two sealed, of the 50 ms that a slice may take; fewer cost speed. */
const SLICE_VERSIONS = 256
/** Stored bytes in a slice, where values are large. */
const SLICE_BYTES_MAX = 2_000_000

/** Leaves of a journal, `from` (inclusive) to `to` (exclusive). */
type JournalPart = {
  readonly audience: Audience
  readonly from: number
  readonly to: number
  /** Only this chain's leaves. */
  readonly chain?: number | undefined
}

/** The versions of a part of a journal in the order of their leaves, in slices that are neither long nor heavy. */
export async function* readSlices(
  { ask, sql }: RecordSource,
  { audience, chain, from: first, to }: JournalPart,
  rest: () => Promise<void> = nextTurn,
): AsyncGenerator<readonly VersionRow[]> {
  const { leafBytes, leaves, leavesOfChain } = sql.of[audience]
  const isHeavy = async (from: number, end: number): Promise<boolean> => {
    const [row] = await ask<readonly [number]>(leafBytes, [from, end])
    return (row?.[0] ?? 0) > SLICE_BYTES_MAX
  }
  for (let from = first; from < to; ) {
    let end = Math.min(from + SLICE_VERSIONS, to)
    while (end > from + 1 && (await isHeavy(from, end))) end = from + Math.ceil((end - from) / 4)
    yield chain === undefined
      ? await ask<VersionRow>(leaves, [from, end])
      : await ask<VersionRow>(leavesOfChain, [from, end, chain])
    from = end
    await rest()
  }
}

/** Rests of the replays of each journal, and of whoever has a token. */
export const countRests = (journals: Readonly<Record<Audience, { readonly size: number }>>) => ({
  rests: {
    user: createRests(() => journals.user.size),
    assistant: createRests(() => journals.assistant.size),
  },
  restOfReaders: () => () => nextTurn(),
})

/** Chains by their ids, in the order of these, which is a replay's: PostgreSQL finds them in any. */
export async function chainsById(
  { ask, sql }: RecordSource,
  ids: Iterable<number>,
): Promise<ReadonlyMap<number, ChainRow>> {
  const rows = Array.from(ids, (id) => [id])
  const found = rows.length === 0 ? [] : await ask<ChainRow>(sql.chains, sql.list(rows))
  const ordered = found.toSorted(([left], [right]) => left - right)
  return new Map(ordered.map((chain) => [chain[0], chain]))
}

/** How many times its slice's duration a replay rests: writes keep nine tenths of the time. */
const REST_FACTOR = 9
/** Rests if something was written within this time; several slices may pass before a write gets through. */
const WRITES_RECENT_MS = 500

/**
 * Begins work; what that returns is awaited between its slices: one turn of the event loop, or a rest while its journal is being
 * written. It looks at no other journal, so timing reveals nothing about internal writes (C30). The time is the machine's.
 */
export function createRests(
  journalSize: () => number,
  time = {
    nowMs: () => performance.now(),
    pause: (ms: number) => pause(ms),
    nextTurn: () => nextTurn(),
  },
): () => () => Promise<void> {
  let [size, writtenAtMs] = [journalSize(), Number.NEGATIVE_INFINITY]
  return () => {
    let fromMs = time.nowMs()
    return async () => {
      const nowMs = time.nowMs()
      if (journalSize() !== size) [size, writtenAtMs] = [journalSize(), nowMs]
      const isWritten = nowMs - writtenAtMs < WRITES_RECENT_MS
      await (isWritten ? time.pause((nowMs - fromMs) * REST_FACTOR) : time.nextTurn())
      fromMs = time.nowMs()
    }
  }
}
