// What verification and export read, whichever engine keeps it, and how their work is cut into slices.
import { setTimeout as pause } from 'node:timers/promises'
import { askEach, type BodySeal, type sealReceipt } from '@tallystick/journal-store'
import type { ChainSlot } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import { findChain } from './record-reads.ts'
import { type FoundRow, foundChains, type RecordSource } from './record-sql.ts'
import type { ChainRow, FoundChain, VersionRow } from './stored-record.ts'

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

export type RecordRows = ReturnType<typeof recordRows>

/** What verification and export read of a store. */
export function recordRows(source: RecordSource) {
  const { ask, sql } = source
  return {
    /** Versions in the order of their leaves. */
    leaves: async ({ audience, from, to }: LeafRange) =>
      ask<VersionRow>(sql.of[audience].leaves, [from, to]),
    /** Stored bytes of their bodies. */
    leafBytes: async ({ audience, from, to }: LeafRange): Promise<number> =>
      (await ask<readonly [number]>(sql.of[audience].leafBytes, [from, to]))[0]?.[0] ?? 0,
    /** Leaf hashes in order, lower-case hex. */
    leafHashes: async ({ audience, from, to }: LeafRange): Promise<readonly string[]> =>
      (await ask<readonly [string]>(sql.of[audience].leafHashes, [from, to])).flat(),
    /** Versions of a chain in order. */
    versions: async ({ audience, chain, after, upTo, limit }: ChainRange) =>
      ask<VersionRow>(sql.of[audience].versions, [chain, after, upTo, limit]),
    /** Chains by id. */
    chains: async (ids: readonly number[]): Promise<ReadonlyMap<number, ChainRow>> => {
      const rows = ids.map((id) => [id])
      const found = await askEach<ChainRow>(source, sql.chains, rows)
      return new Map(found.map((chain) => [chain[0], chain]))
    },
    /** A chain and its newest version, which may be missing. */
    found: (slot: ChainSlot) => findChain(source, slot),
    /** Chains of an audience in order of creation, after one, each with its newest version. */
    chainsAfter: async (
      audience: Audience,
      { after, limit }: { readonly after: number; readonly limit: number },
    ): Promise<readonly FoundChain[]> =>
      foundChains(await ask<FoundRow>(sql.of[audience].chainsAfter, [audience, after, limit])),
  }
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

/** A replay rests this many times as long as its slice took: writes keep nine tenths of the time. */
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
