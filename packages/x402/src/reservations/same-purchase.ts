import type { VerifiedPayment } from '../payment.ts'

/**
 * Whether a request brings the held payment, for what that payment buys. The id alone is not enough: anyone can sign
 * under a known id.
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

/** More mistakes than an honest payer makes, and far fewer than the requests one could guess from. */
export const GUESSES_MAX = 8

/** Payments remembered, about 200 bytes each; the one tried longest ago is forgotten first. */
const REMEMBERED_MAX = 10_000

export type GuessLimit = ReturnType<typeof createGuessLimit>

/**
 * Bounds how often one payment may be tried on different requests. Anyone can read a settled payment from a public chain
 * and send it: without a bound they could guess what its payer bought, and a right guess would get the answer. Counted in
 * memory: every replica and every start counts from zero.
 */
export function createGuessLimit() {
  const counts = new Map<string, number>()
  return {
    /** Counts a request other than the one that the payment bought. */
    note(paymentId: string): void {
      const count = (counts.get(paymentId) ?? 0) + 1
      counts.delete(paymentId)
      counts.set(paymentId, count)
      const oldest = counts.keys().next().value
      if (counts.size > REMEMBERED_MAX && oldest !== undefined) counts.delete(oldest)
    },
    /** Whether the payment has been tried too often to be given anything. */
    isSpent: (paymentId: string): boolean => (counts.get(paymentId) ?? 0) >= GUESSES_MAX,
  }
}
