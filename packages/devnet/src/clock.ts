/** Time as a dependency: only `systemClock` touches the runtime's timers. Same shape as service-kit's. */
export type Clock = {
  /** Unix time in milliseconds. */
  unixMs(): number
  /** Runs `run` once after `ms` milliseconds; the returned function cancels it. */
  after(ms: number, run: () => void): () => void
}

/** The machine's own clock and timers. */
export const systemClock: Clock = {
  unixMs: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms)
    return () => {
      clearTimeout(timer)
    }
  },
}
