/** Time as a dependency: only `systemClock` touches the runtime's timers. */
export type Clock = {
  /** Unix time in milliseconds. */
  unixMs(): number
  /** Runs `run` once after `ms` milliseconds; the returned function cancels it. */
  after(ms: number, run: () => void): () => void
}
