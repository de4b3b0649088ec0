import type { PaidJobOutcome } from './payment-gate.ts'
import { LedgerUnavailable, type PaymentScheme, type VerifiedPayment } from './payment-scheme.ts'
import type { ReservationStore } from './reservation-store.ts'

/**
 * The end of a payment that this store does not hold and whose nonce the ledger has used already (X10): it was settled
 * for somebody else, or before this store began. Undefined where the payment may be reserved. The ledger is read before
 * the reservation is written, so that a reservation proves that the nonce was unused, also to the next process.
 */
export async function refuseAtFirstSight(
  { reservations }: { readonly reservations: Pick<ReservationStore, 'get'> },
  { payment, scheme }: { readonly payment: VerifiedPayment; readonly scheme: PaymentScheme },
): Promise<PaidJobOutcome<never, never> | undefined> {
  if (scheme.isUsed === undefined) return undefined
  if ((await reservations.get(payment.id)) !== undefined) return undefined
  try {
    const isUsed = await scheme.isUsed(payment)
    return isUsed ? { kind: 'challenged', error: 'payment_already_used' } : undefined
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error
    return { kind: 'unavailable', dependency: 'ledger' }
  }
}
