/** Time as an agent needs it: whoever embeds one may pass a clock of their own. */
import type { Clock } from '@tallystick/x402'

/** The runtime's clock and timers. */
export const systemClock: Clock = {
  unixMs: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}

/** Resolves after so many milliseconds. */
export function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve))
}
