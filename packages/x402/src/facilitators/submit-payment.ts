/** One call to the facilitator, and what its answer is worth. */

import type { FlightWorld, SettlementOrder } from '../gate/payment-in-flight.ts'
import type { PaymentScheme, VerifiedPayment } from '../schemes/payment-scheme.ts'
import { FacilitatorUnavailable, type Settlement } from './facilitator.ts'
import { classifyRefusal } from './settlement-refusals.ts'

/** What came of it: `unclear` is for the ledger to decide. */
export type Submission =
  | { readonly kind: 'settled'; readonly settlement: Settlement }
  | { readonly kind: 'refused'; readonly settlement: Settlement }
  | { readonly kind: 'unsent' }
  | { readonly kind: 'unclear'; readonly refusal: Settlement | undefined }

/** Asks the facilitator to settle, and judges what it answered (X8). Never throws for the facilitator. */
export async function submitPayment(
  world: Pick<FlightWorld, 'facilitator' | 'observe'>,
  plan: { readonly payment: VerifiedPayment; readonly scheme: PaymentScheme },
  order: SettlementOrder,
): Promise<Submission> {
  const { payment, scheme } = plan
  let settlement: Settlement
  try {
    settlement = await world.facilitator.settle(order.payload, order.requirement)
  } catch (error) {
    if (error instanceof FacilitatorUnavailable && error.nothingSent) return { kind: 'unsent' }
    world.observe({ kind: 'in_doubt', payment, cause: error })
    return { kind: 'unclear', refusal: undefined }
  }
  if (settlement.success) {
    if (scheme.isOwnTransaction?.(payment, settlement.transaction) === false) {
      world.observe({ kind: 'in_doubt', payment, cause: 'a success of another transaction' })
      return { kind: 'unclear', refusal: undefined }
    }
    world.observe({ kind: 'settled', payment, settlement })
    return { kind: 'settled', settlement }
  }
  const verdict = classifyRefusal(settlement)
  if (verdict === 'definite') return { kind: 'refused', settlement }
  if (verdict === 'definite_unless_landed') {
    const finding = await scheme.find(payment).catch(() => undefined)
    if (finding !== undefined && finding.kind !== 'landed') return { kind: 'refused', settlement }
  }
  world.observe({ kind: 'in_doubt', payment, cause: settlement.errorReason })
  return { kind: 'unclear', refusal: settlement }
}
