/** The port of reservation stores, and how each weighs a payer's earlier payments against a new one. */
import type { VerifiedPayment } from '../payment.ts'

/** A payment in flight or done, and what it bought. */
export type Reservation = {
  readonly paymentId: string
  /** The payment itself, so that the next process can look it up on the ledger. */
  readonly payment: VerifiedPayment
  /** Method, route and agent, or SHA-256 of the body: what the payment buys. */
  readonly fingerprint: string
  /** Who waits for it: the agent in access, the payer in grading. */
  readonly subject: string
  readonly state: 'reserved' | 'settled' | 'answered'
  /** The answer as JSON, once there is one. */
  readonly answer?: string | undefined
  /** When it may be forgotten, Unix seconds; an open reservation is never forgotten. */
  readonly expiresAtSeconds: number
  /** Its answer is kept for its payer, and that payer's other payments are weighed against it (`weighSiblings`). */
  readonly keepsAnswer?: true | undefined
  /** The payer's own name for what it asks, from `Idempotency-Key`. */
  readonly idempotencyKey?: string | undefined
  /** What the next process needs to do the work again; opaque to the gate, dropped once there is an answer. */
  readonly request?: string | undefined
  /** The answer has left for the payer at least once. */
  readonly isDelivered?: true
  /** The payment that was settled for this answer; this one got it, and is never settled itself. */
  readonly answeredBy?: string | undefined
}

export type ReserveOutcome =
  | { readonly kind: 'reserved' }
  /** Somebody holds it: the caller compares fingerprints. */
  | { readonly kind: 'held'; readonly reservation: Reservation }
  /** Too many open reservations: nothing was reserved, and nothing may be settled. */
  | { readonly kind: 'full' }
  /** Another payment of the payer, with the same fingerprint or key, has no answer yet: nothing was reserved. */
  | { readonly kind: 'unresolved'; readonly paymentId: string }
  /** The payer's key names an answer to something else: nothing was reserved. */
  | { readonly kind: 'key_conflict' }
  /** An earlier payment of the payer has the answer. The same transaction remembers the new one with it, never to be settled. */
  | { readonly kind: 'kept'; readonly answer: string }

/**
 * Where payments are reserved before work begins. Access keeps them in memory, grading on disk, fsynced. Each method is
 * one transaction, and does nothing to a reservation that is absent or answered already. One caller's calls take effect,
 * and are answered, in their order: the gate compares the answers with the writes that it still owes.
 */
export type ReservationStore = {
  /** Holds a payment, unless somebody does or an earlier one of its payer stands in its place (`weighSiblings`). */
  reserve(reservation: Reservation): Promise<ReserveOutcome>
  markSettled(paymentId: string): Promise<void>
  /** Ends an open reservation with its answer (JSON), kept until its time (Unix seconds); drops its `request`. */
  keepAnswer(
    paymentId: string,
    kept: { readonly answer: string; readonly expiresAtSeconds: number },
  ): Promise<void>
  /** Remembers that the answer which this payment got has left for its payer. */
  markDelivered(paymentId: string): Promise<void>
  /** Forgets an open reservation after a definite refusal. */
  release(paymentId: string): Promise<void>
  get(paymentId: string): Promise<Reservation | undefined>
  /** Reservations without an answer, for resuming at start. */
  open(): Promise<readonly Reservation[]>
}

/** What an earlier payment of the same payer means for a new one. */
export type SiblingVerdict =
  | Extract<ReserveOutcome, { kind: 'unresolved' | 'key_conflict' }>
  | { readonly kind: 'none' }
  | { readonly kind: 'kept'; readonly sibling: Reservation }

/** Whom answers are kept for: a payer is one account on one network. */
export const payerKeyOf = ({ payment: { network, payer } }: Pick<Reservation, 'payment'>): string =>
  `${network}/${payer}`

/**
 * Weighs a new payment against the payer's latest one with the same key and the latest one settled for the same
 * fingerprint, both among those whose answers are kept (X9, G4). Every store calls this inside `reserve`. An answered
 * sibling counts only if it outlives the new payment: whatever got its answer must not lose it.
 */
export function weighSiblings(
  asked: Reservation,
  siblings: {
    readonly sameKey: Reservation | undefined
    readonly sameFingerprint: Reservation | undefined
  },
): SiblingVerdict {
  const counts = (sibling: Reservation | undefined): sibling is Reservation =>
    sibling !== undefined &&
    (sibling.state !== 'answered' || sibling.expiresAtSeconds >= asked.expiresAtSeconds)
  const { sameFingerprint, sameKey } = siblings
  if (counts(sameKey)) {
    if (sameKey.state !== 'answered') return { kind: 'unresolved', paymentId: sameKey.paymentId }
    return sameKey.fingerprint === asked.fingerprint
      ? { kind: 'kept', sibling: sameKey }
      : { kind: 'key_conflict' }
  }
  if (!counts(sameFingerprint)) return { kind: 'none' }
  if (sameFingerprint.state !== 'answered')
    return { kind: 'unresolved', paymentId: sameFingerprint.paymentId }
  return sameFingerprint.isDelivered === true
    ? { kind: 'none' }
    : { kind: 'kept', sibling: sameFingerprint }
}
