import type { Clock } from '../clock.ts'

/** A clock that stands still until told otherwise; what falls due runs in order while it is advanced. */
export type ManualClock = Clock & {
  advanceMs(ms: number): Promise<void>
  /** Timers not yet run or cancelled. */
  timers(): number
}

/** Lets everything that is ready run: promise chains and what the event loop has queued. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1)
    await new Promise<void>((resolve) => setImmediate(resolve))
}

/** A manual clock that starts at `startMs`, Unix milliseconds. */
export function manualClock(startMs: number): ManualClock {
  let nowMs = startMs
  const timers = new Set<{ readonly atMs: number; readonly run: () => void }>()
  return {
    unixMs: () => nowMs,
    after(ms, run) {
      const timer = { atMs: nowMs + ms, run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    timers: () => timers.size,
    async advanceMs(ms) {
      const endMs = nowMs + ms
      await settled()
      for (;;) {
        const due = [...timers].filter((timer) => timer.atMs <= endMs)
        const next = due.toSorted((left, right) => left.atMs - right.atMs)[0]
        if (next === undefined) break
        nowMs = Math.max(nowMs, next.atMs)
        timers.delete(next)
        next.run()
        await settled()
      }
      nowMs = endMs
    },
  }
}
