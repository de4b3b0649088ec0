/**
 * How many calls to the relay this process may make in a minute, and who goes first when they run short: calls that agents
 * have paid for are never held back, unpaid calls of `/access` wait, and polls of `/status` get the last read.
 */
import { type Clock, pause } from '@tallystick/service-kit'

/** The relay counts each method, and requests of several calls, over this time, milliseconds. */
const MINUTE_MS = 60_000

/** Who asks for a read of a window. */
export type RelayReader = 'paying' | 'unpaid' | 'poll'

/** Percent of the budget up to which each reader's reads are made: polls give way first. */
const SHARE_PERCENT = { paying: 100, unpaid: 75, poll: 50 } as const satisfies Record<
  RelayReader,
  number
>

/** An unpaid call waits this long for room, milliseconds; then it is 502. An honest client's own limit is seldom shorter. */
const WAIT_MS_MAX = 5_000
const WAIT_POLL_MS = 250

/** Calls that may wait at once; any further one is answered 502 immediately. */
const WAITING_MAX = 1_000

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
  let waiting = 0

  const usedPercent = (): number => {
    if (callsPerMinute === 0) return 0
    return (100 * Math.max(contractReads.count(), batches.count())) / callsPerMinute
  }
  const hasRoomFor = (reader: RelayReader): boolean =>
    reader === 'paying' || usedPercent() < SHARE_PERCENT[reader]

  return {
    /** Percent of it that the last minute took, 0 or more. */
    usedPercent,
    /** Whether a window may be read for that reader now. */
    hasRoomFor,
    /** The relay was asked: one request with these calls. */
    spent(methods: readonly string[]): void {
      if (callsPerMinute === 0) return
      for (const method of methods) if (method === 'eth_call') contractReads.add()
      if (methods.length > 1) batches.add()
    },
    /** Waits at most 5 s for room; returns whether there is any then. */
    async waitForRoom(reader: RelayReader): Promise<boolean> {
      if (hasRoomFor(reader)) return true
      if (waiting >= WAITING_MAX) return false
      waiting += 1
      const untilMs = clock.unixMs() + WAIT_MS_MAX
      while (!hasRoomFor(reader) && clock.unixMs() < untilMs) await pause(clock, WAIT_POLL_MS)
      waiting -= 1
      return hasRoomFor(reader)
    },
  }
}

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
  }
}
