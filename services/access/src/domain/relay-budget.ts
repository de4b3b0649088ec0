/**
 * How many calls to the relay this process may make in a minute, over which the relay counts each method and requests of
 * several calls, and who goes first when they run short (A25): calls in open windows are never held back, then come payments
 * whose signature holds, each payer within its share, then unpaid calls, each client address within its own, and polls of
 * `/status` get the last read.
 */
import { BoundedMap, type Clock, getOrMake, MINUTE_MS, pause } from '@tallystick/service-kit'

/** Who asks for a read of a window that is not known to be open. */
export type RelayReader = 'payment' | 'unpaid' | 'poll'

/** Percent of the budget up to which each reader's reads are made. What is left above is for open windows. */
const SHARE_PERCENT = { payment: 90, unpaid: 75, poll: 50 } as const satisfies Record<
  RelayReader,
  number
>

/** From this percent on the budget is short: shares hold, and what callers share is read seldom. Until then a lone stranger
 * may take what nobody else needs. */
const SHORT_PERCENT = 25

/** How long a shared read serves while the budget is short, milliseconds: four such reads take a twelfth of a free budget. */
const SHORT_KEPT_MS = 30_000

/** Unpaid calls of one client address in a minute while the budget is short, percent of the budget: three strangers leave
 * room for a purchase of eight reads. */
const ADDRESS_PERCENT = 20

/** Payments of one payer in a minute that go before unpaid calls while the budget is short, percent of the budget: enough to
 * buy and to ask again, and a payment that can never be settled is signed for nothing. */
const PAYER_PERCENT = 5

/** Client addresses and payers remembered, a few hundred bytes each. A forgotten one has its whole share again. */
const CALLERS_MAX = 10_000

/** A call waits this long for room, milliseconds; then it is 502. An honest client's own limit is seldom shorter. */
const WAIT_MS_MAX = 5_000
const WAIT_POLL_MS = 250

/** Calls that may wait at once; any further one is answered 502 immediately. */
const WAITING_MAX = 1_000

/** Room for one read, which counts until it is left. */
export type RelayPlace = { readonly leave: () => void }

export type RelayBudget = ReturnType<typeof createRelayBudget>

/**
 * A budget of contract reads in any minute (0 is no limit). It counts `eth_call` and requests of several calls, of which
 * Hedera's relay allows the fewest; it allows eight times as many other reads.
 */
export function createRelayBudget(options: {
  readonly clock: Clock
  readonly callsPerMinute: number
}) {
  const { clock, callsPerMinute } = options
  const contractReads = recentCounter(clock)
  const batches = recentCounter(clock)
  const callsBy = new BoundedMap<string, RecentCounter>(CALLERS_MAX)
  /** Reads that have room; their requests may still have to leave. */
  let underWay = 0
  let waiting = 0
  let refusedUntilMs = 0

  const isRefused = (): boolean => clock.unixMs() < refusedUntilMs
  const usedPercent = (): number => {
    if (callsPerMinute === 0) return 0
    return (100 * (Math.max(contractReads.count(), batches.count()) + underWay)) / callsPerMinute
  }
  const isShort = (): boolean => isRefused() || usedPercent() >= SHORT_PERCENT
  const hasRoomFor = (reader: RelayReader): boolean =>
    (reader === 'payment' || !isRefused()) && usedPercent() < SHARE_PERCENT[reader]

  /** Room for that reader's read now, if there is any. */
  const takeRoom = (reader: RelayReader): RelayPlace | undefined => {
    if (!hasRoomFor(reader)) return undefined
    underWay += 1
    return {
      leave: () => {
        underWay -= 1
      },
    }
  }

  /** Counts a call, or returns the seconds to wait if its caller has used up that share of a short budget. */
  const countWithin = (caller: string, percent: number): number | undefined => {
    if (callsPerMinute === 0) return undefined
    const calls = getOrMake(callsBy, caller, () => recentCounter(clock))
    const share = Math.max(1, Math.floor((callsPerMinute * percent) / 100))
    if (isShort() && calls.count() >= share) return calls.secondsUntilFewerThan(share)
    calls.add()
    return undefined
  }

  return {
    usedPercent,
    isShort,
    takeRoom,
    /** Waits at most 5 s for room. */
    async waitForRoom(reader: RelayReader): Promise<RelayPlace | undefined> {
      let place = takeRoom(reader)
      if (place !== undefined || waiting >= WAITING_MAX) return place
      waiting += 1
      const untilMs = clock.unixMs() + WAIT_MS_MAX
      while (place === undefined && clock.unixMs() < untilMs) {
        await pause(clock, WAIT_POLL_MS)
        place = takeRoom(reader)
      }
      waiting -= 1
      return place
    },
    /** Counts an unpaid call of that client address; returns the seconds to wait if it has used up its share. */
    secondsOverShare: (address: string) => countWithin(address, ADDRESS_PERCENT),
    /** Counts a payment of that payer; whether it goes before unpaid calls. */
    goesFirst: (payer: string) => countWithin(payer, PAYER_PERCENT) === undefined,
    /** How long a read that callers share is to be kept, if `usualMs` is right with room to spare; milliseconds. */
    keptMs(usualMs: number): number {
      // Until the relay's minute is over, what was read before it serves.
      if (isRefused()) return Math.max(usualMs, SHORT_KEPT_MS + MINUTE_MS)
      return isShort() ? Math.max(usualMs, SHORT_KEPT_MS) : usualMs
    },
    /** The relay was asked: one request with these calls. */
    spent(methods: readonly string[]): void {
      if (callsPerMinute === 0) return
      for (const method of methods) if (method === 'eth_call') contractReads.add()
      if (methods.length > 1) batches.add()
    },
    /** The relay answered a read with 429: its minute is over a minute later at the latest. */
    refused(): void {
      refusedUntilMs = clock.unixMs() + MINUTE_MS
    },
  }
}

type RecentCounter = ReturnType<typeof recentCounter>

/** Counts what happened in the last minute. */
function recentCounter(clock: Clock) {
  const atMs: number[] = []
  return {
    add: () => void atMs.push(clock.unixMs()),
    count(): number {
      const sinceMs = clock.unixMs() - MINUTE_MS
      const first = atMs.findIndex((ms) => ms > sinceMs)
      atMs.splice(0, first < 0 ? atMs.length : first)
      return atMs.length
    },
    /** How long until fewer are counted if no more are added, at least 1. */
    secondsUntilFewerThan(count: number): number {
      const lastMs = atMs.at(-count) ?? clock.unixMs()
      return Math.max(1, Math.ceil((lastMs + MINUTE_MS - clock.unixMs()) / 1_000))
    },
  }
}
