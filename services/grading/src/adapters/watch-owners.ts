/** Waits for payments that other processes have: however many wait, they are looked up together. */

/** Between two looks, milliseconds: what an answer of another process takes longer here than there. */
const LOOK_MS = 20

export function watchOwners({
  lookElsewhere,
  pause,
}: {
  /** Which of these payments another living process has without an answer. Rejects while the store cannot be read. */
  readonly lookElsewhere: (paymentIds: readonly string[]) => Promise<ReadonlySet<string>>
  readonly pause: (ms: number) => Promise<void>
}) {
  const waiting = new Map<string, PromiseWithResolvers<void>>()
  let isLooking = false

  async function lookOn(): Promise<void> {
    while (waiting.size > 0) {
      await pause(LOOK_MS)
      const paymentIds = [...waiting.keys()]
      // A store that fails now is asked again; whoever waits does so no longer than a request may.
      const elsewhere = await lookElsewhere(paymentIds).catch(() => new Set(paymentIds))
      for (const paymentId of paymentIds)
        if (!elsewhere.has(paymentId)) {
          waiting.get(paymentId)?.resolve()
          waiting.delete(paymentId)
        }
    }
    isLooking = false
  }

  return {
    /** Resolves once no other living process has the payment without an answer. */
    ended(paymentId: string): Promise<void> {
      const ended = waiting.get(paymentId) ?? Promise.withResolvers()
      waiting.set(paymentId, ended)
      if (!isLooking) {
        isLooking = true
        void lookOn()
      }
      return ended.promise
    },
    /** Nobody waits any more. */
    close(): void {
      for (const ended of waiting.values()) ended.resolve()
      waiting.clear()
    },
  }
}
