import type { VerifiedPayment } from '@tallystick/x402'
import { authorizationKeyOf, type EvmReceipt, isPaidBy } from '@tallystick/x402/evm'
import type { SettlementEnd } from '../settlement-end.ts'

/** The nonce was used by another transaction, ours or a stranger's: only the ledger's events say for what. */
export const NONCE_USED: SettlementEnd = {
  outcome: 'duplicate',
  reason: 'invalid_exact_evm_nonce_already_used',
}

/**
 * Judges a mined transaction by the token's own events and by the nonce's state after it: a token that does not revert on
 * a used nonce mines a success that moved nothing.
 */
export function judgeReceipt(
  receipt: EvmReceipt,
  expected: { readonly payment: VerifiedPayment; readonly isUsed: boolean },
): SettlementEnd {
  const { isUsed, payment } = expected
  const { amount, payTo } = payment
  const key = authorizationKeyOf(payment)
  const { transaction } = receipt
  if (receipt.isSuccess && isUsed && isPaidBy(receipt.logs, { ...key, amount, payTo })) {
    return { outcome: 'settled', reason: '', transaction }
  }
  if (isUsed) return NONCE_USED
  return { outcome: 'failed', reason: 'transaction_failed', transaction }
}
