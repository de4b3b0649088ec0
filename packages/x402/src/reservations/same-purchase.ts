import type { VerifiedPayment } from '../payment.ts'

/**
 * Whether a request brings the payment that is held, for what that payment buys. The same id alone is not enough, since
 * anybody can sign under a known id.
 */
export function isSamePurchase(
  held: { readonly payment: VerifiedPayment; readonly fingerprint: string },
  asked: { readonly payment: VerifiedPayment; readonly job: { readonly fingerprint: string } },
): boolean {
  const { payment } = held
  return (
    held.fingerprint === asked.job.fingerprint &&
    payment.id === asked.payment.id &&
    payment.payer === asked.payment.payer &&
    payment.payTo === asked.payment.payTo &&
    payment.asset === asked.payment.asset &&
    payment.amount === asked.payment.amount &&
    payment.memo === asked.payment.memo
  )
}

/** More mistakes than an honest payer makes, and far fewer than there are requests to guess from. */
export const GUESSES_MAX = 8

/** Payments remembered, some 200 bytes each; the one that was tried longest ago is forgotten first. */
const REMEMBERED_MAX = 10_000

export type GuessLimit = ReturnType<typeof createGuessLimit>

/**
 * Bounds how often one payment may be tried on different requests. A settled payment can be read from a public chain and
 * sent by anybody: without a bound he could ask, guess by guess, what its payer bought, and get the answer for the right
 * one. In this process's memory: every replica and every start counts anew.
 */
export function createGuessLimit() {
  const counts = new Map<string, number>()
  return {
    /** Counts a request that was not the one the payment bought. */
    note(paymentId: string): void {
      const count = (counts.get(paymentId) ?? 0) + 1
      counts.delete(paymentId)
      counts.set(paymentId, count)
      if (counts.size <= REMEMBERED_MAX) return
      for (const oldest of counts.keys()) {
        counts.delete(oldest)
        break
      }
    },
    /** Whether the payment gives nobody anything any more. */
    isSpent: (paymentId: string): boolean => (counts.get(paymentId) ?? 0) >= GUESSES_MAX,
  }
}
