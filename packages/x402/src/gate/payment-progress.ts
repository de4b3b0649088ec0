import type { Clock } from '../clock.ts'
import type { GateLimits } from './gate-limits.ts'

/** Thrown inside a waiting payment when the gate closes; the next process finds the payment on the ledger. */
export class GateClosed extends Error {
  override readonly name = 'GateClosed'
}

export type PaymentProgress = ReturnType<typeof createPaymentProgress>

/** How far a payment in flight has got, and how it waits between attempts. */
export function createPaymentProgress(clock: Clock, limits: GateLimits) {
  const reserved = Promise.withResolvers<void>()
  const inDoubt = Promise.withResolvers<void>()
  const givenUp = Promise.withResolvers<void>()
  let possiblySettled = false
  let isClosed = false
  let pause = Promise.withResolvers<void>()
  const refusedOnceGivenUp = async (): Promise<never> => {
    await givenUp.promise
    throw new GateClosed('the gate is closed')
  }
  return {
    /** Resolves once the store has reserved the payment here, or has ended it. */
    reserved: reserved.promise,
    /** Resolves at the first sign that the outcome will take longer; requests then wait less. */
    inDoubt: inDoubt.promise,
    /** Resolves when the gate has closed and no request waits any longer. */
    givenUp: givenUp.promise,
    giveUp: (): void => givenUp.resolve(),
    isPossiblySettled: (): boolean => possiblySettled,
    markReserved: (): void => reserved.resolve(),
    markInDoubt: (): void => inDoubt.resolve(),
    markPossiblySettled(): void {
      possiblySettled = true
    },
    /**
     * Runs `step` with growing pauses until it returns a value; `undefined` means not yet. Throws GateClosed instead of a
     * second run once the gate is closed.
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
    /** Waits for something; throws GateClosed once the gate has closed and no request waits any longer. */
    unlessGivenUp: (awaited: Promise<unknown>): Promise<unknown> =>
      Promise.race([awaited, refusedOnceGivenUp()]),
    /** Ends the current pause at once. */
    wake: (): void => pause.resolve(),
    close(): void {
      isClosed = true
      pause.resolve()
    },
  }
}
