import type { Clock } from '../clock.ts'

/** The runtime's own time, for tests over real sockets. */
export const runtimeClock: Clock = {
  unixMs: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}
