/** Runs jobs one after another, in the order in which they came: the ledger's consensus order. */
export type SerialQueue = {
  /** Runs `job` when every earlier one has ended; a failed job does not stop the next. */
  run<T>(job: () => Promise<T>): Promise<T>
  /** Resolves when everything queued so far has ended. */
  idle(): Promise<void>
}

/** An empty queue. */
export function createSerialQueue(): SerialQueue {
  let tail: Promise<unknown> = Promise.resolve()
  return {
    run(job) {
      const result = tail.then(job)
      tail = result.catch(() => undefined)
      return result
    },
    async idle() {
      await tail
    },
  }
}
