import type { Clock } from './clock.ts'

/** The runtime's own clock. A timer of 0 ms or less runs on the next turn; timers keep the process alive. */
export const systemClock: Clock = {
  unixMs: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}
