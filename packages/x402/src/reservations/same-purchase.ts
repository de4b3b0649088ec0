import { isIPv6, SocketAddress } from 'node:net'
import type { VerifiedPayment } from '../payment.ts'

/**
 * Whether a request brings the held payment, for what that payment buys. The id alone is not enough: anyone can sign
 * under a known id.
 */
export function isSamePurchase(
  stored: { readonly payment: VerifiedPayment; readonly fingerprint: string },
  brought: { readonly payment: VerifiedPayment; readonly job: { readonly fingerprint: string } },
): boolean {
  const { payment } = stored
  return (
    stored.fingerprint === brought.job.fingerprint &&
    payment.id === brought.payment.id &&
    payment.payer === brought.payment.payer &&
    payment.payTo === brought.payment.payTo &&
    payment.asset === brought.payment.asset &&
    payment.amount === brought.payment.amount &&
    payment.memo === brought.payment.memo
  )
}

/** More mistakes than an honest payer makes, and far too few to guess a request. */
export const GUESSES_MAX = 8

/** Guessers remembered for each payment, some 30 bytes each; the one who tried longest ago is forgotten first. */
const GUESSERS_MAX = 32

/**
 * Requests other than the one that a payment bought, counted by the network of who brought it. Anyone can read a settled
 * payment from a public chain and send it: without a bound they could guess what its payer bought, and a right guess would get
 * the answer. Counted per sender, so that guesses lock out only whoever makes them; unnamed senders count as one. The counts
 * are kept with the payment, so every process that shares its store has the same.
 */
export type Guesses = Readonly<Record<string, number>>

/** The counts with one guess more. */
export function addGuess(guesses: Guesses | undefined, network: string): Guesses {
  const others = Object.entries(guesses ?? {}).filter(([known]) => known !== network)
  const count = (guesses?.[network] ?? 0) + 1
  return Object.fromEntries([...others.slice(1 - GUESSERS_MAX), [network, count]])
}

/** Whether this sender has tried the payment too often to be given anything. */
export const hasGuessed = (
  { guesses }: { readonly guesses?: Guesses | undefined },
  sender = '',
): boolean => (guesses?.[clientNetwork(sender)] ?? 0) >= GUESSES_MAX

/**
 * Names one client, however proxies spell it: an IPv4 address, or the /64 of an IPv6 address, since one customer holds all of
 * it.
 *
 * @example clientNetwork('2001:db8:1:2::7') // '2001:db8:1:2'
 */
export function clientNetwork(address: string): string {
  const plain = address.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
  if (!isIPv6(plain)) return plain
  const spelled = new SocketAddress({ address: plain.replace(/%.*/, ''), family: 'ipv6' }).address
  const [, mapped] = /^::ffff:(.+\..+)$/.exec(spelled) ?? []
  if (mapped !== undefined) return mapped
  const [head = [], tail = []] = spelled.split('::').map((side) => side.split(':').filter(Boolean))
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0')
  return [...head, ...zeros, ...tail].slice(0, 4).join(':')
}
