import type { VerifiedPayment } from '@tallystick/x402'
import type { SettleResponse } from '@x402/core/types'
import type { Settled } from './consensus-client.ts'

/** How a settlement ended. `settled` and `failed` are on the ledger; `refused` never reached it. */
export type SettlementEnd = {
  readonly outcome: 'settled' | 'failed' | 'refused' | 'duplicate' | 'pending'
  /** x402's `errorReason`; empty where settled. */
  readonly reason: string
  /** The network's own word for it, where it has one. */
  readonly message?: string
  /** For the log: why it is not known what happened. */
  readonly cause?: unknown
}

/** Somebody has used this transaction id, which the ledger takes once: only its record says for what. */
export const DUPLICATE: SettlementEnd = { outcome: 'duplicate', reason: 'DUPLICATE_TRANSACTION' }

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
  if (!isSame(record.hash, expected.transactionHash)) return DUPLICATE
  if (record.status !== 'SUCCESS')
    return { outcome: 'failed', reason: 'transaction_failed', message: record.status }
  const { amount, payTo } = expected.payment
  return record.netTinybar.get(payTo) === amount
    ? { outcome: 'settled', reason: '' }
    : { outcome: 'failed', reason: 'settlement_transfer_amount_mismatch' }
}

/** The answer to a settlement. It names the transaction exactly where the ledger has it, or may have it. */
export function settleResponse(payment: VerifiedPayment, end: SettlementEnd): SettleResponse {
  const network = payment.network as SettleResponse['network']
  if (end.outcome === 'settled')
    return {
      success: true,
      transaction: payment.nonce,
      network,
      payer: payment.payer,
      amount: payment.amount.toString(),
    }
  return {
    success: false,
    errorReason: end.reason,
    ...(end.message === undefined ? {} : { errorMessage: end.message }),
    transaction: end.outcome === 'refused' ? '' : payment.nonce,
    network,
    payer: payment.payer,
  }
}
