import { LATE_WRITES_MAX } from '../gate/gate-limits.ts'

/** Ends of payments that a store could not take: without them a payer would be told to wait until the next start. */
export type LateWrites = {
  /** Remembers what is owed to a payment; beyond the limit it is left to the next start. */
  owe(paymentId: string, run: () => Promise<void>): void
  /** Nothing is owed to that payment any more. */
  forget(paymentId: string): void
  /** Writes what is owed to a payment; false where nothing is. Throws what the store throws; it stays owed then. */
  pay(paymentId: string): Promise<boolean>
}

/** No late writes yet. Each is written once for all who ask: a second time it could end what was reserved since. */
export function createLateWrites(): LateWrites {
  const owed = new Map<string, () => Promise<void>>()
  const underWay = new Map<string, Promise<void>>()

  async function write(paymentId: string, run: () => Promise<void>): Promise<void> {
    await run()
    // Meanwhile something else may have come to be owed.
    if (owed.get(paymentId) === run) owed.delete(paymentId)
  }

  return {
    owe(paymentId, run) {
      if (owed.size < LATE_WRITES_MAX) owed.set(paymentId, run)
    },
    forget: (paymentId) => void owed.delete(paymentId),
    async pay(paymentId) {
      const run = owed.get(paymentId)
      if (run === undefined) return false
      let writing = underWay.get(paymentId)
      if (writing === undefined) {
        writing = write(paymentId, run).finally(() => underWay.delete(paymentId))
        underWay.set(paymentId, writing)
      }
      await writing
      return true
    },
  }
}
