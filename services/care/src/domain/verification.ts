/**
 * Replays of chains on request (C18, C32). A report is never older than the last write that this process accepted before the
 * request. Work for visitors without a token is done in turns, one at a time, and rests for most of the time while their journal
 * is written to; who has a token takes other turns, and never waits behind them.
 */

import { AUDIENCES, type Audience } from '../wire/audience.ts'
import { chainUri, type NamedChain } from '../wire/record-uri.ts'
import { KeptVerdict, type KeptVerdictDeps } from './kept-verdict.ts'
import type { RecordStore } from './record-store.ts'
import type { Reach } from './scopes.ts'
import type { ReplayedChain, VerifyReport } from './verify-report.ts'

/** A run takes microseconds to seconds; queueing more than this, at all processes together, only makes others wait. */
const WAITING_MAX = 64

type Rest = () => Promise<void>

type VerifierDeps = Omit<KeptVerdictDeps, 'onReplay'> & {
  readonly store: Pick<RecordStore, 'chains'>
  /** Begins a turn of somebody with a token. */
  readonly restOfReaders: () => Rest
  /** Those that serve the same records: what may wait is divided by them. */
  readonly countProcesses?: (() => number) | undefined
}

/** Turns for work, one after the other; each is followed by its rest. */
function createTurns(begin: () => Rest) {
  /** Work not yet begun, so that others may still join it. */
  const shared = new Map<string, Promise<unknown>>()
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  const take = <Result>(work: (rest: Rest) => Promise<Result>): Promise<Result> => {
    waiting += 1
    let rest: Rest | undefined
    const run = last.then(() => {
      waiting -= 1
      rest = begin()
      return work(rest)
    })
    const end = () => rest?.()
    last = run.then(end, end)
    return run
  }
  return {
    waiting: () => waiting,
    take,
    /** The same for work that others may ask for, too. */
    share: <Result>(key: string, work: (rest: Rest) => Promise<Result>): Promise<Result> => {
      const known = shared.get(key)
      if (known !== undefined) return known as Promise<Result>
      const run = take((rest) => {
        shared.delete(key)
        return work(rest)
      })
      shared.set(key, run)
      return run
    },
  }
}

/** What to verify: one chain, or everything within a reach. */
type VerifyQuery = {
  readonly slot?: NamedChain | undefined
  readonly reach: readonly Reach[]
  readonly isAnonymous: boolean
}

type VerifyRun =
  | { readonly kind: 'chain'; readonly replayed: ReplayedChain | undefined }
  | { readonly kind: 'report'; readonly report: VerifyReport }
  /** Too many others are waiting. */
  | { readonly kind: 'busy' }

export type ChainVerifier = ReturnType<typeof createChainVerifier>

export function createChainVerifier(deps: VerifierDeps) {
  const { clock, countProcesses = () => 1, toIso, rests, restOfReaders, store } = deps
  const turns = { visitors: createTurns(rests.user), readers: createTurns(restOfReaders) }
  const reports = { visitors: 0, readers: 0 }
  let runs = 0
  const onReplay = (): void => {
    runs += 1
  }
  const keptVerdicts: Readonly<Record<Audience, KeptVerdict>> = {
    user: new KeptVerdict('user', { ...deps, onReplay }),
    assistant: new KeptVerdict('assistant', { ...deps, onReplay }),
  }
  const replayOne = async (slot: NamedChain, rest: Rest): Promise<ReplayedChain | undefined> => {
    onReplay()
    const checkedAt = toIso(clock.unixMs())
    for await (const chain of store.verify({ audiences: [slot.audience], slot, rest }))
      return { chain, checkedAt }
    return undefined
  }
  const countParts = async (
    audience: Audience,
    { isAnonymous, reach }: Omit<VerifyQuery, 'slot'>,
  ): Promise<VerifyReport['parts']> => {
    const refreshed = () => keptVerdicts[audience].refreshed()
    const verdict = await (isAnonymous ? turns.visitors.share(audience, refreshed) : refreshed())
    const patients = new Set(
      reach.filter((part) => part.audience === audience).map(({ patient }) => patient),
    )
    return patients.has(undefined)
      ? [verdict]
      : [...patients].map((patient) => ({ ...verdict, patient }))
  }
  return {
    /** Rejects with `RecordStoreUnavailable`. */
    async verify({ isAnonymous, reach, slot }: VerifyQuery): Promise<VerifyRun> {
      const who = isAnonymous ? 'visitors' : 'readers'
      const { share, take, waiting } = turns[who]
      if (Math.max(waiting(), reports[who]) >= WAITING_MAX / countProcesses())
        return { kind: 'busy' }
      if (slot !== undefined) {
        const replayed = await share(chainUri(slot), (rest) => replayOne(slot, rest))
        return { kind: 'chain', replayed }
      }
      reports[who] += 1
      try {
        const audiences = AUDIENCES.filter((each) =>
          reach.some(({ audience }) => audience === each),
        )
        const parts = await Promise.all(
          audiences.map((audience) => countParts(audience, { isAnonymous, reach })),
        )
        return { kind: 'report', report: { parts: parts.flat(), store, turn: take } }
      } finally {
        reports[who] -= 1
      }
    },
    /** Replays begun since start. */
    runs: () => runs,
    close: (): void => {
      for (const audience of AUDIENCES) keptVerdicts[audience].close()
    },
  }
}
