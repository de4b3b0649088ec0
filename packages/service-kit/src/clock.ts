/** Time as a dependency: only `systemClock` touches the runtime's timers. */
export type Clock = {
  /** Unix time in milliseconds. */
  unixMs(): number
  /** Runs `run` once after `ms` milliseconds; the returned function cancels it. */
  after(ms: number, run: () => void): () => void
}

/** The runtime's own clock. A timer of 0 ms or less runs in the next iteration of the event loop; timers keep the process alive. */
export const systemClock: Clock = {
  unixMs: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}

/** Resolves after `ms` milliseconds, or as soon as `signal` aborts; it never rejects and leaves no timer behind. */
export function pause(
  clock: Pick<Clock, 'after'>,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve()
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', end)
      resolve()
    })
    const end = (): void => {
      cancel()
      resolve()
    }
    signal?.addEventListener('abort', end, { once: true })
  })
}
