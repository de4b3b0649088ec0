const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs `end` once when the process is told to end, by a signal or because whoever read its output has gone, as `head` does
 * when it has seen enough. Without it that reader's absence is an error at the next line, and services are left running.
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
