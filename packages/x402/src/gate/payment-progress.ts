import type { Clock } from '../clock.ts'
import type { GateLimits } from './gate-limits.ts'

/** Thrown inside a payment in flight that waits when the gate closes; it is found again on the ledger. */
export class GateClosed extends Error {
  override readonly name = 'GateClosed'
}

export type PaymentProgress = ReturnType<typeof createPaymentProgress>

/** How far a payment in flight has come, and how it waits between attempts. */
export function createPaymentProgress(clock: Clock, limits: GateLimits) {
  const reserved = Promise.withResolvers<void>()
  const inDoubt = Promise.withResolvers<void>()
  let possiblySettled = false
  let isClosed = false
  let endPause: (() => void) | undefined
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const end = (): void => {
        cancel()
        endPause = undefined
        resolve()
      }
      const cancel = clock.after(ms, end)
      endPause = end
    })
  return {
    /** Resolves once the store has reserved the payment here, or has ended it. */
    reserved: reserved.promise,
    /** Resolves at the first sign that the outcome will not come at once; requests then wait less long. */
    inDoubt: inDoubt.promise,
    isPossiblySettled: (): boolean => possiblySettled,
    markReserved: (): void => reserved.resolve(),
    markPossiblySettled(): void {
      possiblySettled = true
    },
    /**
     * Runs `step` until it succeeds, with growing pauses; `step` says that it is not done yet by `undefined`. Once the
     * gate is closed it is run no second time: throws GateClosed.
     */
    async persist<Value extends object>(step: () => Promise<Value | undefined>): Promise<Value> {
      let pauseMs = limits.retryFirstMs
      for (;;) {
        const value = await step()
        if (value !== undefined) return value
        inDoubt.resolve()
        if (isClosed) throw new GateClosed('the gate is closed')
        await pause(pauseMs)
        pauseMs = Math.min(pauseMs * 2, limits.retryMaxMs)
      }
    },
    /** Ends the present pause at once. */
    wake: (): void => endPause?.(),
    close(): void {
      isClosed = true
      endPause?.()
    },
  }
}
