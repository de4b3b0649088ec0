import type { VerifiedPayment } from './payment-scheme.ts'

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
  /** When it may be forgotten, Unix seconds. */
  readonly expiresAtSeconds: number
}

export type ReserveOutcome =
  | { readonly kind: 'reserved' }
  /** Somebody holds it: the caller compares fingerprints. */
  | { readonly kind: 'held'; readonly reservation: Reservation }
  /** Too many are open: nothing was reserved, and nothing may be settled. */
  | { readonly kind: 'full' }

/** Where payments are reserved before work begins. Access keeps them in memory, grading on disk, fsynced. */
export type ReservationStore = {
  reserve(reservation: Reservation): Promise<ReserveOutcome>
  /** Moves a reservation on. `answer` comes with state `answered`. */
  advance(paymentId: string, state: 'settled' | 'answered', answer?: string): Promise<void>
  /** Forgets a reservation after a definite refusal. */
  release(paymentId: string): Promise<void>
  get(paymentId: string): Promise<Reservation | undefined>
  /** Reservations without an answer, for resuming at start. */
  open(): Promise<readonly Reservation[]>
}
