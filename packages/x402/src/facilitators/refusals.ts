/**
 * The closed list of refusals made before submission (X8): ours, the reference facilitator's, which x402.org and
 * Blocky402 run for Hedera, and OKX's. A `success: false` with one of these reasons and without a transaction moved no
 * money; any other payment is looked up on the ledger first. The schemes refuse only with reasons from this list.
 */

/** Refusals that depend on the payload alone: no attempt with the same bytes can have succeeded. */
const ABOUT_THE_PAYLOAD = [
  // Ours, and the reference's for Hedera: x402-foundation/x402, typescript/packages/mechanisms/hedera/src/exact/facilitator/scheme.ts
  'unsupported_scheme',
  'network_mismatch',
  'accepted_payment_requirements_mismatch',
  'invalid_asset',
  'invalid_amount',
  'invalid_scheme',
  'invalid_network',
  'invalid_payload',
  'invalid_payment_requirements',
  'invalid_x402_version',
  'fee_payer_not_managed_by_facilitator',
  'pay_to_not_served_by_facilitator',
  'invalid_exact_hedera_payload',
  'invalid_exact_hedera_unsupported_asset_transfer_method',
  'invalid_exact_hedera_payload_transaction',
  'invalid_exact_hedera_payload_transaction_could_not_be_decoded',
  'invalid_exact_hedera_payload_transaction_invalid_shape',
  'invalid_exact_hedera_payload_missing_fee_payer',
  'invalid_exact_hedera_payload_fee_payer_mismatch',
  'invalid_exact_hedera_payload_contains_non_transfer_ops',
  'invalid_exact_hedera_payload_allowance_transfer',
  'invalid_exact_hedera_payload_hbar_sum_non_zero',
  'invalid_exact_hedera_payload_asset_sum_non_zero',
  'invalid_exact_hedera_payload_fee_payer_transferring_hbar',
  'invalid_exact_hedera_payload_fee_payer_transferring_funds',
  'invalid_exact_hedera_payload_unexpected_hbar_transfers',
  'invalid_exact_hedera_payload_unexpected_token_transfers',
  'invalid_exact_hedera_payload_asset_mismatch',
  'invalid_exact_hedera_payload_amount_mismatch',
  'invalid_exact_hedera_payload_extra_positive_transfers',
  'invalid_exact_hedera_payload_pay_to',
  'invalid_exact_hedera_payload_pay_to_alias_not_allowed',
  'invalid_exact_hedera_payload_fee_too_high',
  'invalid_exact_hedera_payload_memo_too_long',
  'invalid_exact_hedera_payload_validity',
  'self_send_not_allowed',
  // Ours, and the reference's for EVM: typescript/packages/mechanisms/evm/src/exact/facilitator/errors.ts
  'asset_not_deployed_contract',
  'eip6492_factory_not_allowed',
  'unsupported_payload_type',
  'invalid_exact_evm_scheme',
  'invalid_exact_evm_network_mismatch',
  'invalid_exact_evm_recipient_mismatch',
  'invalid_exact_evm_authorization_value',
  'invalid_exact_evm_eip3009_not_supported',
  'invalid_exact_evm_payload_undeployed_smart_wallet',
  'invalid_exact_evm_payload',
  'invalid_exact_evm_unsupported_asset_transfer_method',
  'invalid_exact_evm_missing_eip712_domain',
  'invalid_exact_evm_token_name_mismatch',
  'invalid_exact_evm_token_version_mismatch',
  'invalid_exact_evm_payload_key_signature_required',
  'invalid_exact_evm_payload_recipient_mismatch',
  'invalid_exact_evm_payload_authorization_value_mismatch',
  // OKX: web3.okx.com/onchainos/dev-docs/market/payment-error-handling
  'invalid payment header',
  'param_mismatch',
  'toAddr mismatch',
  'amount mismatch',
  'resource mismatch',
  'no matching payment option',
  'unsupported_chain',
] as const

/**
 * Refusals made before submission that depend on the current state of the ledger: the balance may be too small because an
 * earlier attempt with the same bytes took it. One look at the ledger decides between honouring that attempt and
 * refusing.
 */
const ABOUT_THE_LEDGER = [
  // Ours, and the reference's for Hedera
  'insufficient_funds',
  'transaction_expired',
  'invalid_exact_hedera_payload_fee_too_low',
  'invalid_exact_hedera_payload_signature_invalid',
  'invalid_exact_hedera_payload_signed_by_another_key',
  'invalid_exact_hedera_payload_preflight_failed',
  'invalid_exact_hedera_payload_pay_to_not_associated',
  'invalid_exact_hedera_payload_token_frozen',
  'invalid_exact_hedera_payload_token_paused',
  'invalid_exact_hedera_payload_token_takes_fee',
  'invalid_exact_hedera_payload_not_yet_valid',
  // Ours, and the reference's for EVM, whose revert of a gas estimate comes before it sends anything
  'invalid_exact_evm_gas_too_high',
  'invalid_exact_evm_contract_wallet_reverted',
  'invalid_exact_evm_insufficient_balance',
  'invalid_exact_evm_signature',
  'invalid_exact_evm_payload_signature',
  'invalid_exact_evm_payload_authorization_valid_after',
  'invalid_exact_evm_payload_authorization_valid_before',
  'invalid_exact_evm_transaction_simulation_failed',
  // OKX; its `onchain_error`, `payment processing` and used nonces leave the outcome open
  'payer_blocked',
  'risk_address',
  'invalid_signature',
  'not_yet_valid',
  'expired',
  'insufficient_balance',
] as const

/** Why a payment was refused before submission. */
export type RefusalReason = (typeof ABOUT_THE_PAYLOAD | typeof ABOUT_THE_LEDGER)[number]

export type Refusal = { readonly kind: 'refused'; readonly reason: RefusalReason }

export const refused = (reason: RefusalReason): Refusal => ({ kind: 'refused', reason })

/** Says what a facilitator's `success: false` means, given its reason and the transaction it names (X8). */
export function classifyRefusal(refusal: {
  readonly errorReason?: string | undefined
  readonly transaction: string
}): 'definite' | 'definite_unless_landed' | 'unclear' {
  const { errorReason, transaction } = refusal
  if (transaction !== '' || errorReason === undefined) return 'unclear'
  if (isAmong(ABOUT_THE_PAYLOAD, errorReason)) return 'definite'
  return isAmong(ABOUT_THE_LEDGER, errorReason) ? 'definite_unless_landed' : 'unclear'
}

const isAmong = (reasons: readonly string[], reason: string): boolean => reasons.includes(reason)
