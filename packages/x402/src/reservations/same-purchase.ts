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

/** More mistakes than an honest payer makes, and far too few to guess a request. */
export const GUESSES_MAX = 8

/** Guessers remembered, about 250 bytes each; the one who tried longest ago is forgotten first. */
const REMEMBERED_MAX = 10_000

export type GuessLimit = ReturnType<typeof createGuessLimit>

/** A payment as somebody brings it. */
type Brought = { readonly paymentId: string; readonly sender: string | undefined }

/**
 * Bounds how often one sender may try one payment on different requests. Anyone can read a settled payment from a public
 * chain and send it: without a bound they could guess what its payer bought, and a right guess would get the answer.
 * Counted per sender, so that guesses lock out only whoever makes them; unnamed senders count as one. Counted in memory:
 * every replica and every start counts from zero.
 */
export function createGuessLimit() {
  const counts = new Map<string, number>()
  return {
    /** Counts a request other than the one that the payment bought. */
    note(brought: Brought): void {
      const key = keyOf(brought)
      const count = (counts.get(key) ?? 0) + 1
      counts.delete(key)
      counts.set(key, count)
      const oldest = counts.keys().next().value
      if (counts.size > REMEMBERED_MAX && oldest !== undefined) counts.delete(oldest)
    },
    /** Whether this sender has tried the payment too often to be given anything. */
    isSpent: (brought: Brought): boolean => (counts.get(keyOf(brought)) ?? 0) >= GUESSES_MAX,
  }
}

const keyOf = ({ paymentId, sender = '' }: Brought): string =>
  `${paymentId} ${clientNetwork(sender)}`

/** What counts as one client: an IPv4 address, or the /64 of an IPv6 address, since one customer holds all of it. */
export function clientNetwork(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  if (!plain.includes(':')) return plain
  const [head = '', tail] = plain.split('::', 2)
  const before = head.split(':').filter(Boolean)
  const after = (tail ?? '').split(':').filter(Boolean)
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length)
  const groups = [...before, ...Array.from({ length: zeros }, () => '0'), ...after]
  return groups.slice(0, 4).join(':')
}
