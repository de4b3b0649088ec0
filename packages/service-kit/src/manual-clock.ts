import type { Clock } from './clock.ts'

/** A clock that stands still until moved; for tests and devnet's time travel. */
export type ManualClock = Clock & {
  /** Advances time by `ms` and runs due timers in order of time, then of arming. */
  advanceMs(ms: number): void
  /** The same, but lets promises and immediates settle before, between and after the timers. */
  advanceMsSettled(ms: number): Promise<void>
  /** How many timers are armed. Work that has ended must not leave one behind. */
  pendingCount(): number
}

type Timer = { readonly atMs: number; readonly run: () => void }

/** Event-loop iterations granted to a chain of awaits; more than any chain in these packages needs. */
const SETTLE_ITERATIONS = 4

const settle = async (): Promise<void> => {
  for (let count = 0; count < SETTLE_ITERATIONS; count += 1) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve)
    })
  }
}

/** Returns a clock that reads `startMs` (Unix milliseconds) until advanced. */
export function manualClock(startMs: number): ManualClock {
  let nowMs = startMs
  // In arming order, which a stable sort keeps.
  const timers = new Set<Timer>()

  /** Runs the first timer due by then. If none is due, moves time there and returns false. */
  const runNext = (untilMs: number): boolean => {
    const [first] = [...timers]
      .filter(({ atMs }) => atMs <= untilMs)
      .toSorted((left, right) => left.atMs - right.atMs)
    nowMs = Math.max(nowMs, first?.atMs ?? untilMs)
    if (first === undefined) return false
    timers.delete(first)
    first.run()
    return true
  }

  return {
    unixMs: () => nowMs,
    after(ms, run) {
      const timer: Timer = { atMs: nowMs + Math.max(0, ms), run }
      timers.add(timer)
      return () => {
        timers.delete(timer)
      }
    },
    advanceMs(ms) {
      const untilMs = nowMs + ms
      while (runNext(untilMs));
    },
    async advanceMsSettled(ms) {
      const untilMs = nowMs + ms
      await settle()
      while (runNext(untilMs)) await settle()
    },
    pendingCount: () => timers.size,
  }
}
