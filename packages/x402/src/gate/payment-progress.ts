import type { Clock } from '../clock.ts'
import type { GateLimits } from './gate-limits.ts'

/** Thrown inside a payment that waits when the gate closes; the next process finds it on the ledger. */
export class GateClosed extends Error {
  override readonly name = 'GateClosed'
}

export type PaymentProgress = ReturnType<typeof createPaymentProgress>

/** How far a payment in flight has come, and how it waits between attempts. */
export function createPaymentProgress(clock: Clock, limits: GateLimits) {
  const reserved = Promise.withResolvers<void>()
  const inDoubt = Promise.withResolvers<void>()
  const givenUp = Promise.withResolvers<void>()
  let possiblySettled = false
  let isClosed = false
  let pause = Promise.withResolvers<void>()
  return {
    /** Resolves once the store has reserved the payment here, or has ended it. */
    reserved: reserved.promise,
    /** Resolves at the first sign that the outcome takes longer; requests then wait less long. */
    inDoubt: inDoubt.promise,
    /** Resolves when the gate has closed and no request waits any longer. */
    givenUp: givenUp.promise,
    giveUp: (): void => givenUp.resolve(),
    isPossiblySettled: (): boolean => possiblySettled,
    markReserved: (): void => reserved.resolve(),
    markPossiblySettled(): void {
      possiblySettled = true
    },
    /**
     * Runs `step` until it returns a value, with growing pauses; `undefined` means not yet. Once the gate is closed it runs
     * no second time: throws GateClosed.
     */
    async persist<Value extends object>(step: () => Promise<Value | undefined>): Promise<Value> {
      let pauseMs = limits.retryFirstMs
      for (;;) {
        const value = await step()
        if (value !== undefined) return value
        inDoubt.resolve()
        if (isClosed) throw new GateClosed('the gate is closed')
        pause = Promise.withResolvers()
        const cancel = clock.after(pauseMs, pause.resolve)
        await pause.promise
        cancel()
        pauseMs = Math.min(pauseMs * 2, limits.retryMaxMs)
      }
    },
    /** Ends the present pause at once. */
    wake: (): void => pause.resolve(),
    close(): void {
      isClosed = true
      pause.resolve()
    },
  }
}
