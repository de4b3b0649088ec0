import type { Clock } from '@tallystick/x402'

/** The runtime's clock and timers. */
export const systemClock: Clock = {
  unixMs: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}
