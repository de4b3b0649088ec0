import type { Clock } from '../clock.ts'

/** A clock that stands still until it is told to go on. */
export type ManualClock = Clock & {
  /** Goes on by `ms`, running what falls due in order. */
  advanceMs(ms: number): void
}

/** A clock that stands at `startMs`, Unix milliseconds. */
export function manualClock(startMs: number): ManualClock {
  let nowMs = startMs
  const timers = new Set<{ atMs: number; run: () => void }>()
  return {
    unixMs: () => nowMs,
    after(ms, run) {
      const timer = { atMs: nowMs + ms, run }
      timers.add(timer)
      return () => {
        timers.delete(timer)
      }
    },
    advanceMs(ms) {
      const endMs = nowMs + ms
      for (;;) {
        const next = [...timers].toSorted((a, b) => a.atMs - b.atMs)[0]
        if (next === undefined || next.atMs > endMs) break
        timers.delete(next)
        nowMs = Math.max(nowMs, next.atMs)
        next.run()
      }
      nowMs = endMs
    },
  }
}
