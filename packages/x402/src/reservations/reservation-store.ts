/** The port of reservation stores, and how each one weighs a payer's earlier payments against a new one. */
import type { VerifiedPayment } from '../payment.ts'
import type { Guesses } from './same-purchase.ts'

/** A payment in flight or done, and what it bought. */
export type Reservation = {
  readonly paymentId: string
  /** The payment itself, so that a later process can look it up on the ledger. */
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
  /** Its answer is kept for its payer, whose other payments are weighed against it (`weighSiblings`). */
  readonly keepsAnswer?: true | undefined
  /** The payer's own name for the request, from `Idempotency-Key`. */
  readonly idempotencyKey?: string | undefined
  /** A later process needs this to redo the work; opaque to the gate, dropped once there is an answer. */
  readonly request?: string | undefined
  /** The answer has left for the payer at least once. */
  readonly isDelivered?: true
  /** The payment that was settled for this answer; this one was given the answer and is never settled itself. */
  readonly answeredBy?: string | undefined
  /** Wrong guesses of what it bought. */
  readonly guesses?: Guesses | undefined
  /** It has no answer, and another process, which lives, will give it one. */
  readonly isElsewhere?: true
}

/** How a payer's other payments, at other processes, bound this one (X16). */
export type ReserveLimits = {
  /** Most of its payments that other living processes may have reserved without having settled them. */
  readonly elsewhereMax: number
}

export type ReserveOutcome =
  /** With what those payments take of the same asset, if there are any. */
  | { readonly kind: 'reserved'; readonly aheadElsewhere?: bigint }
  /** Other processes have more of the payer's payments than `elsewhereMax`: nothing was reserved. */
  | { readonly kind: 'crowded' }
  /** Already held: the caller compares fingerprints. */
  | { readonly kind: 'held'; readonly reservation: Reservation }
  /** Too many open reservations: nothing was reserved, and nothing may be settled. */
  | { readonly kind: 'full' }
  /** Another payment from the payer, with the same fingerprint or key, has no answer yet: nothing was reserved. */
  | { readonly kind: 'unresolved'; readonly paymentId: string }
  /** The payer's key names the answer to something else: nothing was reserved. */
  | { readonly kind: 'key_conflict' }
  /** An earlier payment from the payer has the answer. The same transaction stores the new payment with it, never to be settled. */
  | { readonly kind: 'kept'; readonly answer: string }

/**
 * Where payments are reserved before work begins. Access keeps them in memory, grading on disk, fsynced. Each method is
 * one transaction, and does nothing to a reservation that is absent, already answered, or another process's. One caller's
 * calls take effect, and are answered, in order: the gate compares the answers with the writes it still owes.
 *
 * Several processes may share one place. An open reservation belongs to the process that made it, and to the next one that
 * asks for it once that process has ended.
 */
export type ReservationStore = {
  /** Set if other processes may take a payment over: then an answer is given once it is kept, since theirs may differ. */
  readonly isShared?: true
  /** Holds a payment, unless it is already held or an earlier one from its payer takes its place (`weighSiblings`). */
  reserve(reservation: Reservation, limits?: ReserveLimits): Promise<ReserveOutcome>
  /** False if another process took it over: that one does its work, and this one must not. */
  markSettled(paymentId: string): Promise<boolean>
  /**
   * Ends an open reservation with its answer (JSON), kept until its expiry (Unix seconds); drops its `request`. False if
   * another process took it over: that one's answer holds.
   */
  keepAnswer(
    paymentId: string,
    answered: { readonly answer: string; readonly expiresAtSeconds: number },
  ): Promise<boolean>
  /** Records that the answer given to this payment has left for its payer. */
  markDelivered(paymentId: string): Promise<void>
  /** Counts a wrong guess of what the payment bought, whoever has it. */
  noteGuess(paymentId: string, network: string): Promise<void>
  /** Forgets an open reservation after a definite refusal. */
  release(paymentId: string): Promise<void>
  get(paymentId: string): Promise<Reservation | undefined>
  /** This process's reservations without an answer, with those of processes that ended, which become its own. */
  open(): Promise<readonly Reservation[]>
  /** Resolves once no other living process has the payment without an answer. It never rejects. */
  ownerEnded(paymentId: string): Promise<void>
}

/** An earlier payment from the same payer means this for a new one. */
type SiblingVerdict =
  | Extract<ReserveOutcome, { kind: 'unresolved' | 'key_conflict' }>
  | { readonly kind: 'none' }
  | { readonly kind: 'kept'; readonly sibling: Reservation }

/** Names a payer, which is one account on one network. */
export const payerKey = ({ payment: { network, payer } }: Pick<Reservation, 'payment'>): string =>
  `${network}/${payer}`

/**
 * Weighs a new payment against the payer's latest one with the same key and the latest one settled for the same
 * fingerprint, considering only payments whose answers are kept (X9, G4). Every store calls this inside `reserve`. An
 * answered sibling counts only if it outlives the new payment: a payment must not lose the answer it was given.
 */
export function weighSiblings(
  wanted: Reservation,
  siblings: {
    readonly sameKey: Reservation | undefined
    readonly sameFingerprint: Reservation | undefined
  },
): SiblingVerdict {
  const counts = (sibling: Reservation | undefined): sibling is Reservation =>
    sibling !== undefined &&
    (sibling.state !== 'answered' || sibling.expiresAtSeconds >= wanted.expiresAtSeconds)
  const { sameFingerprint, sameKey } = siblings
  if (counts(sameKey)) {
    if (sameKey.state !== 'answered') return { kind: 'unresolved', paymentId: sameKey.paymentId }
    return sameKey.fingerprint === wanted.fingerprint
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
