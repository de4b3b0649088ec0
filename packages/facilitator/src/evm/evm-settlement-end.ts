import type { VerifiedPayment } from '@tallystick/x402'
import { type EvmReceipt, type Hex, isPaidBy } from '@tallystick/x402/evm'
import type { SettleResponse } from '@x402/core/types'
import type { SettlementEnd } from '../hedera/settlement-end.ts'

/** How an EVM settlement ended, with the hash of its transaction where this process submitted one. */
export type EvmSettlementEnd = SettlementEnd & { readonly transaction?: Hex }

/** The nonce was used by another transaction, ours or a stranger's: only the ledger's events say for what. */
export const NONCE_USED: EvmSettlementEnd = {
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
): EvmSettlementEnd {
  const { isUsed, payment } = expected
  const { amount, payTo } = payment
  const key = {
    asset: payment.asset as Hex,
    payer: payment.payer as Hex,
    nonce: payment.nonce as Hex,
  }
  const { transaction } = receipt
  if (receipt.isSuccess && isUsed && isPaidBy(receipt.logs, { ...key, amount, payTo })) {
    return { outcome: 'settled', reason: '', transaction }
  }
  if (isUsed) return NONCE_USED
  return { outcome: 'failed', reason: 'transaction_failed', transaction }
}

/** The answer to a settlement. It names a transaction exactly where this process put one on its way. */
export function evmSettleResponse(payment: VerifiedPayment, end: EvmSettlementEnd): SettleResponse {
  const network = payment.network as SettleResponse['network']
  const { payer } = payment
  if (end.outcome === 'settled') {
    const amount = payment.amount.toString()
    return { success: true, transaction: end.transaction ?? '', network, payer, amount }
  }
  return {
    success: false,
    errorReason: end.reason,
    ...(end.message === undefined ? {} : { errorMessage: end.message }),
    transaction: end.transaction ?? '',
    network,
    payer,
  }
}
