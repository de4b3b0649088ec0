const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs `end` once when the process is told to end, by a signal or because the reader of its output is gone, as `head` is
 * once it has seen enough. Otherwise the next line of output would fail and leave services running.
 */
export function whenToldToEnd(end: () => Promise<void>): void {
  let isTold = false
  const tell = (): void => {
    if (isTold) return
    isTold = true
    void end()
  }
  for (const signal of SIGNALS) process.on(signal, tell)
  for (const stream of [process.stdout, process.stderr]) stream.on('error', tell)
}
