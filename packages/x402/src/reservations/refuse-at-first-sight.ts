import type { PaidJobOutcome } from '../gate/payment-gate.ts'
import {
  LedgerUnavailable,
  type PaymentScheme,
  type VerifiedPayment,
} from '../schemes/payment-scheme.ts'
import type { ReservationStore } from './reservation-store.ts'

/** What the ledger says of a payment before it is reserved. */
export type FirstSight =
  | { readonly kind: 'refused'; readonly outcome: PaidJobOutcome<never, never> }
  /**
   * It may be reserved. Where its payer cannot pay it is refused after that, and only if it was reserved: an empty payer
   * is still owed the answer to what he paid for before.
   */
  | { readonly kind: 'passed'; readonly canPay: boolean }

type Seen = {
  readonly canSettle: boolean
  readonly payment: VerifiedPayment
  readonly scheme: PaymentScheme
}

const PASSED: FirstSight = { kind: 'passed', canPay: true }

/**
 * Refuses a payment that this store does not hold and whose nonce the ledger has used already (X10), or whose validity
 * is over: it was settled for somebody else, or before this store began, or never. The ledger is read before the
 * reservation is written, so that a reservation proves that the nonce was unused, also to the next process.
 */
export async function refuseAtFirstSight(
  { reservations }: { readonly reservations: Pick<ReservationStore, 'get'> },
  seen: Seen,
): Promise<FirstSight> {
  const { canSettle, payment, scheme } = seen
  if (scheme.isUsed === undefined && scheme.canPay === undefined) return PASSED
  if ((await reservations.get(payment.id)) !== undefined) return PASSED
  try {
    const [isUsed, canPay] = await Promise.all([scheme.isUsed?.(payment), mayBeAbleToPay(seen)])
    if (isUsed === true) return refused('payment_already_used')
    // Nobody here sent it, and nobody will: to wait for it would let anybody fill the gate with old signatures, unpaid.
    if (isUsed === false && !canSettle) return refused('transaction_expired')
    return { kind: 'passed', canPay }
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error
    return { kind: 'refused', outcome: { kind: 'unavailable', dependency: 'ledger' } }
  }
}

/**
 * False where the payer surely cannot pay. Whether a payment is honoured hangs on its nonce, so that nothing is sold
 * while that cannot be read; the balance only spares work, and the facilitator looks at it again before it sends.
 */
async function mayBeAbleToPay({ canSettle, payment, scheme }: Seen): Promise<boolean> {
  if (!canSettle || scheme.canPay === undefined) return true
  try {
    return await scheme.canPay(payment)
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error
    return true
  }
}

function refused(error: string): FirstSight {
  return { kind: 'refused', outcome: { kind: 'challenged', error } }
}
