import type { VerifiedPayment } from '../schemes/payment-scheme.ts'

/** Whether two verified payments are one: the same id alone is not enough, since anybody can sign under a known id. */
export function isSamePayment(left: VerifiedPayment, right: VerifiedPayment): boolean {
  return (
    left.id === right.id &&
    left.payer === right.payer &&
    left.payTo === right.payTo &&
    left.asset === right.asset &&
    left.amount === right.amount &&
    left.memo === right.memo
  )
}
