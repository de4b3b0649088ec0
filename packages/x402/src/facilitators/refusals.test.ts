import { expect, test } from 'vitest'
import { isNothingSubmitted } from './facilitator.ts'
import { classifyRefusal } from './refusals.ts'

test.each([
  ['invalid_exact_hedera_payload_amount_mismatch', '', 'definite'],
  ['fee_payer_not_managed_by_facilitator', '', 'definite'],
  ['insufficient_funds', '', 'definite_unless_landed'],
  ['invalid_exact_hedera_payload_preflight_failed', '', 'definite_unless_landed'],
  ['invalid_exact_hedera_payload_amount_mismatch', '0.0.5001@1.000000001', 'unclear'],
  ['DUPLICATE_TRANSACTION', '', 'unclear'],
  ['transaction_failed', '', 'unclear'],
  ['transaction_expired', '', 'definite_unless_landed'],
  ['settlement_pending', '', 'unclear'],
  ['invalid_exact_evm_payload_recipient_mismatch', '', 'definite'],
  ['invalid_exact_evm_insufficient_balance', '', 'definite_unless_landed'],
  ['invalid_exact_evm_payload_authorization_valid_before', '', 'definite_unless_landed'],
  ['invalid_exact_evm_nonce_already_used', '', 'unclear'],
  // The reference also gives this answer when its wait for the receipt failed.
  ['invalid_exact_evm_transaction_failed', '', 'unclear'],
  ['invalid_exact_evm_transaction_simulation_failed', '', 'definite_unless_landed'],
  // OKX
  ['toAddr mismatch', '', 'definite'],
  ['expired', '', 'definite_unless_landed'],
  ['payer_blocked', '', 'definite_unless_landed'],
  ['onchain_error', '', 'unclear'],
  ['payment processing', '', 'unclear'],
  ['nonce_used', '', 'unclear'],
  ['never heard of', '', 'unclear'],
  [undefined, '', 'unclear'],
])('X8: %s with transaction "%s" is %s', (errorReason, transaction, verdict) => {
  expect(classifyRefusal({ errorReason, transaction })).toBe(verdict)
})

test.each([
  ['consensus_unavailable', true],
  ['ledger_unavailable', true],
  ['fee_payer_balance_too_low', true],
  ['fee_payer_unusable', true],
  ['internal_error', false],
  [undefined, false],
])('X8: a 503 with %s: nothing was submitted is %s', (error, isSaid) => {
  expect(isNothingSubmitted(error)).toBe(isSaid)
})
