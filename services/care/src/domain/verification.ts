/**
 * Replays of chains on request (C18, C32), and the two forms of their answer. One replay runs at a time; requests that wait for
 * the same replay share it. A report is never older than the last write that this process accepted before the request. Visitors
 * without a token get a bounded share of the time, so that none of them delays a write.
 */
import { SEAL_ALGORITHM } from '@tallystick/hashchain'
import type { Clock } from '@tallystick/service-kit'
import { chainUri, type NamedChain } from '../wire/record-uri.ts'
import { AUDIENCES, type Audience } from '../wire/records.ts'
import type { ChainPayload } from '../wire/verify.ts'
import {
  chainVerdict,
  countsOf,
  joinReports,
  KeptVerdict,
  type KeptVerdictDeps,
  publicReceipt,
  REPLAY_INTERVAL_MS,
  reportOf,
  type VerifyReport,
} from './kept-verdict.ts'
import type { ChainVerification, RecordStore } from './record-store.ts'
import type { Reach } from './scopes.ts'

type VerifierDeps = Omit<KeptVerdictDeps, 'onReplay'> & { readonly clock: Clock }

/** A run takes microseconds to seconds; queueing more than this only makes others wait. */
const WAITING_RUNS_MAX = 64
/** The minimum charge for a visitor's report, milliseconds; making and sending one takes a tenth of that. */
const REPORT_MS = 1
/** What sending a megabyte of it costs them: half of it here, half in the receiver if it is on the same machine. */
const SEND_MS_PER_MEGABYTE = 1
/** Most that making a report counts, milliseconds: a replay beside writes rests for most of its time. */
const MAKE_MS_MAX = 3_000
/** Pause before the next report, as a multiple of what the last one cost: visitors get a tenth of the time. */
const PAUSE_FACTOR = 9
/** Reports that visitors may have at once before they are paced, in milliseconds. */
const BURST_MS = 320

/** Spreads visitors' reports over time. */
function createPace(clock: Clock) {
  let [freeAtMs, lastPauseMs] = [0, 0]
  return {
    /** Resolves when the next may begin, with the pause already charged for it: others in the queue wait that long. */
    turn: async (): Promise<number> => {
      let hasWaited = false
      for (let waitMs = freeAtMs - clock.unixMs(); waitMs > 0; waitMs = freeAtMs - clock.unixMs()) {
        const ms = waitMs
        hasWaited = true
        await new Promise<void>((resolve) => void clock.after(ms, resolve))
      }
      if (!hasWaited) return 0
      freeAtMs = clock.unixMs() + lastPauseMs
      return lastPauseMs
    },
    /** Charges for a report. `grantedMs` is the part of its pause that `turn` has charged already. */
    spend: (costMs: number, grantedMs: number): void => {
      lastPauseMs = costMs * PAUSE_FACTOR
      freeAtMs = Math.max(freeAtMs, clock.unixMs() - BURST_MS) + lastPauseMs - grantedMs
    },
  }
}

const BYTES_PER_MEGABYTE = 1_000_000

/** What a report costs others: the time it took to make, which may have been mere waiting, and its sending. */
function reportCostMs({ blocks }: VerifyReport, tookMs: number): number {
  const bytes = blocks.reduce(
    (sum, { chains, receipts }) => sum + chains.length + receipts.length,
    0,
  )
  const madeMs = Math.min(Math.max(tookMs, REPORT_MS), MAKE_MS_MAX)
  return madeMs + (bytes / BYTES_PER_MEGABYTE) * SEND_MS_PER_MEGABYTE
}

/** Runs work one after the other. */
function createRunQueue() {
  /** Work not yet begun, so that others may still join it. */
  const waiting = new Map<string, Promise<VerifyRun>>()
  let last: Promise<unknown> = Promise.resolve()
  return {
    waiting: () => waiting.size,
    /** Runs work once everything before it has ended, or joins the same work if that is still waiting. */
    share: (key: string, work: () => Promise<VerifyRun>): Promise<VerifyRun> => {
      const known = waiting.get(key)
      if (known !== undefined) return known
      const run = last.then(() => {
        waiting.delete(key)
        return work()
      })
      last = run.catch(() => undefined)
      waiting.set(key, run)
      return run
    },
  }
}

/** What to verify: one chain, or everything within a reach. */
type VerifyQuery = {
  readonly slot?: NamedChain | undefined
  readonly reach: readonly Reach[]
  /** Whether it is paced. */
  readonly isAnonymous: boolean
}

type VerifyRun = {
  readonly report: VerifyReport
  /** The one chain that was asked for, if there is one. */
  readonly chain?: ChainVerification | undefined
}

export type ChainVerifier = ReturnType<typeof createChainVerifier>

export function createChainVerifier(deps: VerifierDeps) {
  const { clock, isoNow, store } = deps
  const pace = createPace(clock)
  const queue = createRunQueue()
  let [paced, runs] = [0, 0]
  const onReplay = (): void => {
    runs += 1
  }
  const kept = {
    user: new KeptVerdict('user', { ...deps, onReplay }),
    assistant: new KeptVerdict('assistant', { ...deps, onReplay }),
  }
  const replayOne = (slot: NamedChain): Promise<VerifyRun> =>
    queue.share(chainUri(slot), async () => {
      onReplay()
      const checkedAt = isoNow()
      const chains: ChainVerification[] = []
      for await (const chain of store.verify({ audiences: [slot.audience], slot }))
        chains.push(chain)
      return { report: reportOf(checkedAt, chains), chain: chains[0] }
    })
  const refreshed = (audience: Audience, reach: readonly Reach[]): Promise<VerifyRun> => {
    const within = reach.filter((one) => one.audience === audience)
    const isWhole = within.some(({ patient }) => patient === undefined)
    const part = isWhole ? undefined : within
    return queue.share(`${audience} ${JSON.stringify(part)}`, async () => {
      await kept[audience].refresh()
      return { report: kept[audience].report(part) }
    })
  }
  const run = async ({ reach, slot }: VerifyQuery): Promise<VerifyRun> => {
    if (slot !== undefined) return replayOne(slot)
    const audiences = AUDIENCES.filter((one) => reach.some(({ audience }) => audience === one))
    const ended = await Promise.all(audiences.map((audience) => refreshed(audience, reach)))
    return { report: joinReports(ended.map(({ report }) => report)) }
  }
  return {
    /** Rejects with `RecordStoreUnavailable`; resolves to undefined when too many runs are waiting. */
    async verify(query: VerifyQuery): Promise<VerifyRun | undefined> {
      if (queue.waiting() + paced >= WAITING_RUNS_MAX) return undefined
      if (!query.isAnonymous) return run(query)
      paced += 1
      const grantedMs = await pace.turn()
      paced -= 1
      const fromMs = clock.unixMs()
      const found = await run(query)
      const tookMs = clock.unixMs() - fromMs
      const costMs = query.slot === undefined ? reportCostMs(found.report, tookMs) : tookMs
      pace.spend(costMs, grantedMs)
      return found
    },
    /** Replays begun since start. */
    runs: () => runs,
  }
}

/** What a report contains besides the chains. */
type ReportPlace = {
  /** The MCP endpoint's URL. */
  readonly resource: string
  readonly atRest: string
  /** How old its replay may be if the store cannot say whether others changed it. */
  readonly replayIntervalSeconds?: number | undefined
}

export function reportPlace(
  resource: string,
  store: Pick<RecordStore, 'sealKeyId' | 'outsideMark'>,
): ReportPlace {
  const atRest = atRestLine(store.sealKeyId)
  if (store.outsideMark() !== undefined) return { resource, atRest }
  return { resource, atRest, replayIntervalSeconds: REPLAY_INTERVAL_MS / 1_000 }
}

/** The at-rest status line (care.md), without a label; it says plaintext if nothing is sealed. */
function atRestLine(sealKeyId: string | undefined): string {
  return sealKeyId === undefined
    ? 'plaintext at rest: no sealing is configured'
    : `sealed at rest with ${SEAL_ALGORITHM} under key ${sealKeyId}, each value bound to patient|domain|version|audience`
}

/** The items of a JSON list; the first has no comma before it. */
const listed = (blocks: readonly Uint8Array[]): readonly Uint8Array[] =>
  blocks.map((block, at) => (at === 0 ? block.subarray(1) : block))

/** The JSON of a full run (`VerifyPayload`), in pieces of UTF-8. */
export function verifyJson(report: VerifyReport, place: ReportPlace): readonly Uint8Array[] {
  const { blocks, checkedAt } = report
  const { broken, erased, versions } = countsOf(report)
  const { resource, atRest, replayIntervalSeconds } = place
  const head = JSON.stringify({ resource, checkedAt, replayIntervalSeconds, atRest })
  return [
    Buffer.from(`${head.slice(0, -1)},"chains":[`),
    ...listed(blocks.map(({ chains }) => chains)),
    Buffer.from('],"receipts":['),
    ...listed(blocks.map(({ receipts }) => receipts)),
    Buffer.from(
      `],${JSON.stringify({ versions, erased: erased || undefined, intact: broken === 0 }).slice(1)}`,
    ),
  ]
}

/** The JSON with a `uri` filter: the verdict on one chain, and the receipt of its stored bytes. */
export function chainPayload(chain: ChainVerification): ChainPayload {
  return { ...chainVerdict(chain), atRest: publicReceipt(chain) }
}

/** The plain-text report, in pieces of UTF-8. */
export function verifyText(report: VerifyReport, place: ReportPlace): readonly Uint8Array[] {
  const { blocks, checkedAt } = report
  const { broken, chains, erased, sealed, versions } = countsOf(report)
  const gone = erased === 0 ? '' : `, ${erased} erased`
  const { resource, atRest, replayIntervalSeconds: interval } = place
  const rests = interval === undefined ? '' : ` (replayed at least every ${interval} s)`
  const title = 'Tallystick care: hash chains replayed from stored bytes'
  const summary = broken === 0 ? `all chains intact, ${versions} version(s)${gone}` : 'CHAIN BROKEN'
  return [
    Buffer.from(`${title}\nresource : ${resource}\nchecked : ${checkedAt}${rests}\n${atRest}\n`),
    ...blocks.map(({ lines }) => lines),
    Buffer.from(`${summary}\n${sealed}/${chains} latest version(s) sealed at rest\n`),
  ]
}
