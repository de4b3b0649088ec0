import type { VerifiedPayment } from '@tallystick/x402'
import type { SettlementEnd } from '../settlement-end.ts'
import type { Settled } from './consensus-client.ts'

/** Somebody has used this transaction id, which the ledger takes once: only its record says for what. */
export const duplicateOf = ({ nonce }: VerifiedPayment): SettlementEnd => ({
  outcome: 'duplicate',
  reason: 'DUPLICATE_TRANSACTION',
  transaction: nonce,
})

/** Whether two byte strings are equal. */
const isSame = (left: Uint8Array, right: Uint8Array): boolean => Buffer.from(left).equals(right)

/**
 * Judges what the ledger recorded under a payment's id. The hash tells whether it is the transaction that we submitted:
 * the receipt alone would also report another one under the same id. The net credit is checked as the specification asks.
 */
export function judgeRecord(
  record: Extract<Settled, { kind: 'recorded' }>,
  expected: { readonly payment: VerifiedPayment; readonly transactionHash: Uint8Array },
): SettlementEnd {
  const { payment, transactionHash } = expected
  if (!isSame(record.hash, transactionHash)) return duplicateOf(payment)
  const { amount, nonce: transaction, payTo } = payment
  if (record.status !== 'SUCCESS') {
    const message = record.status
    return { outcome: 'failed', reason: 'transaction_failed', message, transaction }
  }
  return record.netTinybar.get(payTo) === amount
    ? { outcome: 'settled', reason: '', transaction }
    : { outcome: 'failed', reason: 'settlement_transfer_amount_mismatch', transaction }
}
