// The ledger's own time: the injected clock plus every second travelled so far. It issues the unique consensus
// timestamps, and its timers fire when their time comes, by waiting or by travel.

import type { Clock } from '@tallystick/service-kit'

/** Longest delay that Node's timers support, in milliseconds; longer ones are split. */
const TIMER_MS_MAX = 2_147_483_647

const NANOSECONDS_PER_MS = 1_000_000n

/** Consensus time. `unixMs` and `after` follow travel, so it can be handed to services as their clock. */
export type ConsensusClock = Clock & {
  /** Current consensus second, Unix seconds, rounded down. */
  nowSeconds(): number
  /** A consensus timestamp in nanoseconds: later than all earlier ones, and not before `atLeastNs`. */
  nextTimestamp(atLeastNs?: bigint): bigint
  /** Moves time forward to `unixMs` (never back) and runs every timer due by then, in order. */
  travelTo(unixMs: number): void
  /** Cancels every timer. */
  stop(): void
}

type Timer = { atMs: number; run: () => void; cancel: () => void }

/** Builds the ledger's time on top of `base`. */
export function createConsensusClock(base: Clock): ConsensusClock {
  let offsetMs = 0
  let lastNs = 0n
  let isStopped = false
  const timers = new Set<Timer>()
  const unixMs = (): number => base.unixMs() + offsetMs

  function wait(timer: Timer): void {
    const leftMs = Math.min(Math.max(0, timer.atMs - unixMs()), TIMER_MS_MAX)
    timer.cancel = base.after(leftMs, () => {
      if (unixMs() < timer.atMs) wait(timer)
      else fire(timer)
    })
  }

  function fire(timer: Timer): void {
    timer.cancel()
    if (timers.delete(timer)) timer.run()
  }

  return {
    unixMs,
    nowSeconds: () => Math.floor(unixMs() / 1000),
    nextTimestamp(atLeastNs = 0n) {
      const nowNs = BigInt(Math.floor(unixMs())) * NANOSECONDS_PER_MS
      lastNs = [nowNs, atLeastNs, lastNs + 1n].reduce((a, b) => (a > b ? a : b))
      return lastNs
    },
    after(ms, run) {
      if (isStopped) return () => undefined
      const timer: Timer = { atMs: unixMs() + ms, run, cancel: () => undefined }
      timers.add(timer)
      wait(timer)
      return () => {
        timer.cancel()
        timers.delete(timer)
      }
    },
    travelTo(targetMs) {
      offsetMs += Math.max(0, targetMs - unixMs())
      const due = [...timers].filter((timer) => timer.atMs <= unixMs())
      for (const timer of due.toSorted((a, b) => a.atMs - b.atMs)) fire(timer)
      for (const timer of timers) {
        timer.cancel()
        wait(timer)
      }
    },
    stop() {
      isStopped = true
      for (const timer of timers) timer.cancel()
      timers.clear()
    },
  }
}
