import type { Reservation } from './reservation-store.ts'

/** What an earlier payment of the same payer means for a new one. */
export type SiblingVerdict =
  | { readonly kind: 'none' }
  | { readonly kind: 'unresolved'; readonly paymentId: string }
  | { readonly kind: 'key_conflict' }
  | { readonly kind: 'kept'; readonly sibling: Reservation }

/** Whom a payment's answers are kept for: a payer means one account on one network. */
export const payerKeyOf = ({ payment }: Pick<Reservation, 'payment'>): string =>
  `${payment.network}/${payment.payer}`

/**
 * Weighs a new payment against the latest of its payer with the same key and the latest settled for the same
 * fingerprint, both among those whose answers are kept (X9, G4). Every store asks this inside `reserve`. An answered
 * sibling counts only while it outlives the new payment, so that what is remembered with it never loses its answer.
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
