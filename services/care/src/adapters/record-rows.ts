// What verification and export read, whichever engine keeps it. An embedded engine answers at once.
import { setTimeout as pause } from 'node:timers/promises'
import type { BodySeal, sealReceipt } from '@tallystick/journal-store'
import type { ChainSlot } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import type { ChainRow, VersionRow, WholeChainRow } from './stored-record.ts'

type Awaitable<Value> = Value | Promise<Value>

/** Leaves of a journal, `from` (inclusive) to `to` (exclusive). */
export type LeafRange = { readonly audience: Audience; readonly from: number; readonly to: number }

/** Versions of a chain above `after`, `upTo` at most. */
type ChainRange = {
  readonly audience: Audience
  readonly chain: number
  readonly after: number
  readonly upTo: number
  readonly limit: number
}

export type RecordRows = {
  /** Versions in the order of their leaves. */
  leaves(range: LeafRange): Awaitable<readonly VersionRow[]>
  /** Stored bytes of their bodies. */
  leafBytes(range: LeafRange): Awaitable<number>
  /** Leaf hashes in order, lower-case hex. */
  leafHashes(range: LeafRange): Awaitable<readonly string[]>
  /** Versions of a chain in order. */
  versions(range: ChainRange): Awaitable<readonly VersionRow[]>
  /** The newest stored version of each chain that has one, by the chain's id. */
  newest(audience: Audience, chains: readonly number[]): Awaitable<ReadonlyMap<number, VersionRow>>
  /** Chains by id. */
  chains(ids: readonly number[]): Awaitable<ReadonlyMap<number, WholeChainRow>>
  chainOf(slot: ChainSlot): Awaitable<ChainRow | undefined>
  /** Chains of an audience in order of creation, after one. */
  chainsAfter(
    audience: Audience,
    of: { readonly after: number; readonly limit: number },
  ): Awaitable<readonly WholeChainRow[]>
}

/** Where verification reads. */
export type VerifySource = {
  readonly rows: RecordRows
  readonly seal: BodySeal
  /** What stored bytes say of their sealing. */
  readonly receipt: typeof sealReceipt
  /** Entries committed to a journal. */
  readonly journalSize: (audience: Audience) => number
}

/** Versions in a slice: half a millisecond in the clear and two sealed, of the 50 ms that a slice may take; fewer cost speed. */
export const SLICE_VERSIONS = 256
/** Stored bytes in a slice, where values are large. */
export const SLICE_BYTES_MAX = 2_000_000

/** Lets other work run. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

/** A replay rests for so many times of what its slice took: writes keep nine tenths of the time. */
const REST_FACTOR = 9
/** Rests while something was written in as long a time; several slices may pass before a write comes through. */
const WRITES_RECENT_MS = 500

/**
 * What a replay awaits between two slices: one turn of the event loop, or, while its journal is written to, a rest. It looks
 * at no other journal, so that time tells nothing of internal writes (C30); the time is the machine's.
 */
export function createRests(
  journalSize: () => number,
  time = { nowMs: () => performance.now(), pause: (ms: number) => pause(ms), nextTurn },
): () => Promise<void> {
  let [size, writtenAtMs, fromMs] = [journalSize(), Number.NEGATIVE_INFINITY, time.nowMs()]
  return async () => {
    const nowMs = time.nowMs()
    if (journalSize() !== size) [size, writtenAtMs] = [journalSize(), nowMs]
    const isWritten = nowMs - writtenAtMs < WRITES_RECENT_MS
    await (isWritten ? time.pause((nowMs - fromMs) * REST_FACTOR) : time.nextTurn())
    fromMs = time.nowMs()
  }
}

/** The end (exclusive) of a slice of leaves that is neither long nor heavy. */
export async function sliceEnd(rows: RecordRows, range: LeafRange): Promise<number> {
  const { audience, from, to } = range
  let end = Math.min(from + SLICE_VERSIONS, to)
  while (end > from + 1 && (await rows.leafBytes({ audience, from, to: end })) > SLICE_BYTES_MAX)
    end = from + Math.ceil((end - from) / 4)
  return end
}
