import type { PaidJobOutcome } from './payment-gate.ts'
import { LedgerUnavailable, type PaymentScheme, type VerifiedPayment } from './payment-scheme.ts'
import type { ReservationStore } from './reservation-store.ts'

/**
 * The end of a payment that this store does not hold and whose nonce the ledger has used already (X10), or whose validity
 * is over: it was settled for somebody else, or before this store began, or never. Undefined where the payment may be
 * reserved. The ledger is read before the reservation is written, so that a reservation proves that the nonce was unused,
 * also to the next process.
 */
export async function refuseAtFirstSight(
  { reservations }: { readonly reservations: Pick<ReservationStore, 'get'> },
  {
    canSettle,
    payment,
    scheme,
  }: {
    readonly canSettle: boolean
    readonly payment: VerifiedPayment
    readonly scheme: PaymentScheme
  },
): Promise<PaidJobOutcome<never, never> | undefined> {
  if (scheme.isUsed === undefined) return undefined
  if ((await reservations.get(payment.id)) !== undefined) return undefined
  try {
    if (await scheme.isUsed(payment)) return { kind: 'challenged', error: 'payment_already_used' }
    // Nobody here sent it, and nobody will: to wait for it would let anybody fill the gate with old signatures, unpaid.
    return canSettle ? undefined : { kind: 'challenged', error: 'transaction_expired' }
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error
    return { kind: 'unavailable', dependency: 'ledger' }
  }
}
