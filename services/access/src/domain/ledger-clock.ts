/**
 * The service's clock, corrected when it is proved to differ from the ledger's: half a minute off, it would sell and serve
 * windows that are not open on the contract. The proof is the mirror node's own time together with the ledger's. How far
 * the node has read the ledger proves only that this clock is slow, since nodes lag.
 */
import type { Clock } from '@tallystick/service-kit'
import type { LedgerTime } from '@tallystick/x402/hedera'

/** A clock that differs by more is wrong, seconds; NTP keeps one within a hundredth. */
const OFF_SECONDS_MAX = 5

/** A node whose own time is behind the ledger, or this far ahead of what it has read, proves nothing, seconds. */
const NODE_LAG_SECONDS_MAX = 3_600
const NODE_AHEAD_SECONDS_MIN = -2

export type LedgerClock = ReturnType<typeof createLedgerClock>

export function createLedgerClock({
  clock,
  wallClock = clock,
}: {
  readonly clock: Clock
  /** Wall time, if `clock` does not show it: on a local ledger that travels in time. */
  readonly wallClock?: Clock | undefined
}) {
  let offSeconds = 0
  const seconds = () => ({ own: clock.unixMs() / 1_000, wall: wallClock.unixMs() / 1_000 })
  return {
    /** Ledger time; the server's own while nothing proves it wrong. */
    clock: {
      unixMs: () => clock.unixMs() - offSeconds * 1_000,
      after: (ms, run) => clock.after(ms, run),
    } satisfies Clock,
    /** How far the server's clock is ahead of the ledger's, seconds, negative behind; 0 within 5 s. */
    offSeconds: () => offSeconds,
    /** Reads the ledger's time, and compares. */
    async compare(read: () => Promise<LedgerTime>): Promise<LedgerTime> {
      const before = seconds()
      const time = await read()
      offSeconds = measureOffset(time, { before, after: seconds() })
      return time
    },
  }
}

type Seconds = { readonly own: number; readonly wall: number }

/** Says what is certain about a clock that showed these times before and after a node reported its own. */
function measureOffset(
  { consensusSeconds, nodeSeconds }: LedgerTime,
  { before, after }: { readonly before: Seconds; readonly after: Seconds },
): number {
  const lag = (nodeSeconds ?? Number.NaN) - consensusSeconds
  const isTravelling = Math.abs(after.own - after.wall) > OFF_SECONDS_MAX
  const isWitness = isTravelling || (lag >= NODE_AHEAD_SECONDS_MIN && lag <= NODE_LAG_SECONDS_MAX)
  if (nodeSeconds !== undefined && isWitness) {
    // A node's time is truncated to the second.
    const least = before.wall - nodeSeconds - 1
    const most = after.wall - nodeSeconds
    if (least > OFF_SECONDS_MAX) return Math.round(least)
    return most < -OFF_SECONDS_MAX ? Math.round(most) : 0
  }
  const most = after.own - consensusSeconds
  return most < -OFF_SECONDS_MAX ? Math.round(most) : 0
}
