/**
 * Replays of chains on request (C18): one runs at a time, and requests that would see the same share a run. A run is
 * never older than the last write that this process accepted before the request.
 */
import type { Audience, ChainSlot } from './care-record.ts'
import type { ChainVerification, RecordStore } from './record-store.ts'
import { chainUri } from './record-uri.ts'

/** What one replay found. */
export type VerifyRun = {
  /** ISO 8601 time at which it began. */
  readonly checkedAt: string
  readonly chains: readonly ChainVerification[]
  /** Versions replayed. */
  readonly versions: number
  readonly intact: boolean
}

export type VerifyQuery = {
  readonly audiences: readonly Audience[]
  readonly slot?: ChainSlot
}

export type ChainVerifier = {
  /** Rejects with `RecordStoreUnavailable`; resolves to undefined when too many runs wait already. */
  verify(query: VerifyQuery): Promise<VerifyRun | undefined>
  /** A write was accepted: runs under way do not know it. */
  noteWrite(): void
  /** Replays begun since the start. */
  runs(): number
}

/** A run that others may join until a write comes after it has begun. */
type SharedRun = { readonly run: Promise<VerifyRun>; hasBegun: boolean }

/** A run takes from microseconds to seconds; more waiting ones than this come from someone who wants them to wait. */
const WAITING_RUNS_MAX = 64

async function replay(
  deps: { readonly store: Pick<RecordStore, 'verify'>; readonly isoNow: () => string },
  query: VerifyQuery,
): Promise<VerifyRun> {
  const checkedAt = deps.isoNow()
  const chains: ChainVerification[] = []
  let versions = 0
  for await (const chain of deps.store.verify(query)) {
    chains.push(chain)
    versions += chain.versions
  }
  return { checkedAt, chains, versions, intact: chains.every(({ intact }) => intact) }
}

export function createChainVerifier(deps: {
  readonly store: Pick<RecordStore, 'verify'>
  readonly isoNow: () => string
}): ChainVerifier {
  const shared = new Map<string, SharedRun>()
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  let runs = 0

  const begin = (query: VerifyQuery): SharedRun => {
    const before = last
    waiting += 1
    const run = before.then(() => {
      waiting -= 1
      runs += 1
      begun.hasBegun = true
      return replay(deps, query)
    })
    const begun: SharedRun = { run, hasBegun: false }
    last = run.catch(() => undefined)
    return begun
  }
  return {
    async verify(query) {
      const key = `${query.audiences.join()} ${query.slot === undefined ? '' : chainUri(query.slot)}`
      const known = shared.get(key)
      if (known !== undefined) return await known.run
      if (waiting >= WAITING_RUNS_MAX) return undefined
      const mine = begin(query)
      shared.set(key, mine)
      try {
        return await mine.run
      } finally {
        if (shared.get(key) === mine) shared.delete(key)
      }
    },
    noteWrite: () => {
      for (const [key, { hasBegun }] of shared) if (hasBegun) shared.delete(key)
    },
    runs: () => runs,
  }
}
