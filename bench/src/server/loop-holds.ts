/** How long single iterations of this process's event loop work, by CPU: a busy machine adds little to it. */

const nextIteration = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

/** CPU of this thread, ms. */
function threadMs(): number {
  const { system, user } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** Watches every iteration from now on. The returned function ends that and gives the most CPU that one of them took, ms. */
export function watchHolds(): () => Promise<number> {
  const watched = { mostMs: 0, isOver: false }
  const watch = async (): Promise<void> => {
    while (!watched.isOver) {
      const [beforeCpuMs, beforeMs] = [threadMs(), performance.now()]
      await nextIteration()
      // CPU is booked in ticks of up to 4 ms: what one iteration used may be booked in the next, which took less time.
      const ms = Math.min(threadMs() - beforeCpuMs, performance.now() - beforeMs)
      watched.mostMs = Math.max(watched.mostMs, ms)
    }
  }
  const watching = watch()
  return async () => {
    watched.isOver = true
    await watching
    return watched.mostMs
  }
}
