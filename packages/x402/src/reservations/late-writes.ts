/** Failed writes that are kept; beyond this, the next start finds the payment on the ledger. */
const LATE_WRITES_MAX = 1_000

export type LateWrites = ReturnType<typeof createLateWrites>

/**
 * Writes after settlement that a store failed to make. They are repeated when their payment arrives again; otherwise its
 * payer would have to wait for the next start. Each is written once for everyone who asks, since a second write could end a
 * later reservation.
 */
export function createLateWrites() {
  const owed = new Map<string, () => Promise<void>>()
  const running = new Map<string, Promise<void>>()

  async function run(paymentId: string, write: () => Promise<void>): Promise<void> {
    await write()
    // Another write may have become owed by now.
    if (owed.get(paymentId) === write) owed.delete(paymentId)
  }

  return {
    /** Remembers a payment's write; beyond the limit it is left to the next start. */
    owe(paymentId: string, write: () => Promise<void>): void {
      if (owed.size < LATE_WRITES_MAX) owed.set(paymentId, write)
    },
    /** The payment is no longer owed anything. */
    forget: (paymentId: string): void => void owed.delete(paymentId),
    /** Writes what a payment is owed; false if nothing. Throws what the store throws, in which case the write stays owed. */
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
