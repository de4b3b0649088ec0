import { expect, test } from 'vitest'
import { classifyRefusal } from './refusals.ts'

test.each([
  ['invalid_exact_hedera_payload_amount_mismatch', '', 'definite'],
  ['fee_payer_not_managed_by_facilitator', '', 'definite'],
  ['insufficient_funds', '', 'definite_unless_landed'],
  ['invalid_exact_hedera_payload_preflight_failed', '', 'definite_unless_landed'],
  ['invalid_exact_hedera_payload_amount_mismatch', '0.0.5001@1.000000001', 'unclear'],
  ['DUPLICATE_TRANSACTION', '', 'unclear'],
  ['transaction_failed', '', 'unclear'],
  ['transaction_expired', '', 'unclear'],
  ['settlement_pending', '', 'unclear'],
  ['invalid_exact_evm_payload_recipient_mismatch', '', 'definite'],
  ['invalid_exact_evm_insufficient_balance', '', 'definite_unless_landed'],
  ['invalid_exact_evm_payload_authorization_valid_before', '', 'definite_unless_landed'],
  ['invalid_exact_evm_nonce_already_used', '', 'unclear'],
  // The reference also gives this answer when its wait for the receipt failed.
  ['invalid_exact_evm_transaction_failed', '', 'unclear'],
  ['invalid_exact_evm_transaction_simulation_failed', '', 'unclear'],
  ['never heard of', '', 'unclear'],
  [undefined, '', 'unclear'],
])('X8: %s with transaction "%s" is %s', (errorReason, transaction, verdict) => {
  expect(classifyRefusal({ errorReason, transaction })).toBe(verdict)
})
