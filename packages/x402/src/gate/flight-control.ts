import type { Clock } from '../clock.ts'
import type { GateLimits } from './gate-limits.ts'

/** Thrown inside a flight when the gate closes while the flight waits; its payment is found again on the ledger. */
export class GateClosed extends Error {
  override readonly name = 'GateClosed'
}

/** What a flight tells the gate about itself, and how it waits. */
export type FlightControl = {
  /** Resolves once the store has said whether this flight holds the payment, or the flight has ended. */
  readonly claimed: Promise<void>
  /** Resolves at the first sign that the outcome will not come at once; requests then wait less long. */
  readonly inDoubt: Promise<void>
  isPossiblySettled(): boolean
  claim(): void
  markPossiblySettled(): void
  /**
   * Runs `step` until it succeeds, with growing pauses; `step` says that it is not done yet by `undefined`. Once the
   * gate is closed it is run no second time: throws GateClosed.
   */
  persist<Value extends object>(step: () => Promise<Value | undefined>): Promise<Value>
  /** Ends the present pause at once. */
  wake(): void
  close(): void
}

/** The control of one flight, over the injected clock. */
export function createFlightControl(clock: Clock, limits: GateLimits): FlightControl {
  const claimed = Promise.withResolvers<void>()
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
    claimed: claimed.promise,
    inDoubt: inDoubt.promise,
    isPossiblySettled: () => possiblySettled,
    claim: () => claimed.resolve(),
    markPossiblySettled() {
      possiblySettled = true
    },
    async persist(step) {
      for (
        let pauseMs = limits.retryFirstMs;
        ;
        pauseMs = Math.min(pauseMs * 2, limits.retryMaxMs)
      ) {
        const value = await step()
        if (value !== undefined) return value
        inDoubt.resolve()
        if (isClosed) throw new GateClosed('the gate is closed')
        await pause(pauseMs)
      }
    },
    wake: () => endPause?.(),
    close() {
      isClosed = true
      endPause?.()
    },
  }
}
