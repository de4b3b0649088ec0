import type { VerifiedPayment } from '../schemes/payment-scheme.ts'

/** A payment under way or done, and what it bought. */
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
  readonly answer?: string
  /** When it may be forgotten, Unix seconds; what is open is never forgotten. */
  readonly expiresAtSeconds: number
  /** Its answer is kept for its payer: other payments of that payer are weighed against it (`weighSiblings`). */
  readonly keepsAnswer?: true
  /** The payer's own name for what it asks, from `Idempotency-Key`. */
  readonly idempotencyKey?: string
  /** What the next process needs to do the work again; opaque to the gate, and gone once there is an answer. */
  readonly request?: string
  /** The answer has left for the payer at least once. */
  readonly isDelivered?: true
  /** The payment that was settled for this answer; this one was given it, and is never settled itself. */
  readonly answeredBy?: string
}

export type ReserveOutcome =
  | { readonly kind: 'reserved' }
  /** Somebody holds it: the caller compares fingerprints. */
  | { readonly kind: 'held'; readonly reservation: Reservation }
  /** Too many are open: nothing was reserved, and nothing may be settled. */
  | { readonly kind: 'full' }
  /** Another payment of the payer, with the same fingerprint or key, has no answer yet: nothing was reserved. */
  | { readonly kind: 'unresolved'; readonly paymentId: string }
  /** The payer's key names an answer to something else: nothing was reserved. */
  | { readonly kind: 'key_conflict' }
  /**
   * An earlier payment of the payer has the answer. The new payment is remembered with it, in the same transaction, so
   * that it is never settled later.
   */
  | { readonly kind: 'kept'; readonly answer: string }

/** An answer to keep. */
export type KeptAnswer = {
  /** JSON. */
  readonly answer: string
  /** When it may be forgotten, Unix seconds. */
  readonly expiresAtSeconds: number
}

/**
 * Where payments are reserved before work begins. Access keeps them in memory, grading on disk, fsynced. Each method is
 * one transaction; moving on what is not there, or is answered already, does nothing. What one caller asks takes place,
 * and is answered, in the order in which it was asked: the gate compares what it was told with what it is still owed.
 */
export type ReservationStore = {
  /** Holds a payment, unless somebody does or an earlier one of its payer stands in its place (`weighSiblings`). */
  reserve(reservation: Reservation): Promise<ReserveOutcome>
  markSettled(paymentId: string): Promise<void>
  /** Ends an open reservation with its answer, which is kept until its time; its `request` goes. */
  keepAnswer(paymentId: string, kept: KeptAnswer): Promise<void>
  /** Remembers that the answer which this payment got has left for its payer. */
  markDelivered(paymentId: string): Promise<void>
  /** Forgets an open reservation after a definite refusal. */
  release(paymentId: string): Promise<void>
  get(paymentId: string): Promise<Reservation | undefined>
  /** Reservations without an answer, for resuming at start. */
  open(): Promise<readonly Reservation[]>
}
