/** Store writes that failed after settlement and wait for their payment to be asked about; the next start finds any other. */
const LATE_WRITES_MAX = 1_000

export type LateWrites = ReturnType<typeof createLateWrites>

/**
 * Ends of payments that a store could not take: without them a payer would be told to wait until the next start. Each is
 * written once for all who ask: a second time it could end what was reserved since.
 */
export function createLateWrites() {
  const owed = new Map<string, () => Promise<void>>()
  const running = new Map<string, Promise<void>>()

  async function run(paymentId: string, write: () => Promise<void>): Promise<void> {
    await write()
    // Another write may have come to be owed meanwhile.
    if (owed.get(paymentId) === write) owed.delete(paymentId)
  }

  return {
    /** Remembers a payment's write; beyond the limit it is left to the next start. */
    owe(paymentId: string, write: () => Promise<void>): void {
      if (owed.size < LATE_WRITES_MAX) owed.set(paymentId, write)
    },
    /** Nothing is owed to that payment any more. */
    forget: (paymentId: string): void => void owed.delete(paymentId),
    /** Writes what is owed to a payment; false where nothing is. Throws what the store throws; it stays owed then. */
    async write(paymentId: string): Promise<boolean> {
      const write = owed.get(paymentId)
      if (write === undefined) return false
      let writing = running.get(paymentId)
      if (writing === undefined) {
        writing = run(paymentId, write).finally(() => running.delete(paymentId))
        running.set(paymentId, writing)
      }
      await writing
      return true
    },
  }
}
