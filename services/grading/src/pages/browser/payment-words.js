/** What became of a payment, in words. */

/** @type {Record<import('./pay-request.js').Step, string>} */
export const STEP_WORDS = {
  asking: 'Checking the request. Nothing is charged yet.',
  signing: 'Well formed. Waiting for your signature…',
  settling: 'Signed. The payment is being settled…',
  waiting: 'The payment is being completed. Nothing is signed again…',
}

/** @type {Record<string, string>} */
const REFUSALS = {
  payment_required: 'The service did not see a payment. Nothing was charged.',
  payment_already_used: 'That payment bought something else before. Nothing new was charged.',
  insufficient_funds: 'The paying address does not hold enough of the token. Nothing was charged.',
  invalid_exact_evm_payload_signature:
    'The signature is not that of the paying address. Nothing was charged.',
  invalid_exact_evm_payload_authorization_valid_before:
    'The payment ran out before it was settled. Nothing was charged.',
  payment_requirements_mismatch: 'The terms changed in between. Nothing was charged.',
}

/** @param {string} error */
export const refusalWords = (error) =>
  REFUSALS[error] ?? `The payment was refused (${error}). Nothing was charged.`

/**
 * @param {{ status: number, error: string }} failed
 */
export function failureWords({ status, error }) {
  if (error === 'no_answer') return 'The service does not answer. Nothing was charged.'
  if (status === 413) return 'That is more than the service takes at once. Nothing was charged.'
  if (status === 503 || status === 502)
    return `The service cannot do that just now (${error}). Nothing was charged.`
  return `The service answered ${status} (${error}). Nothing was charged.`
}

/**
 * A wallet's error in words; the code 4001 is a person's no (EIP-1193).
 *
 * @param {unknown} error
 */
export function walletWords(error) {
  const code =
    typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  if (code === 4001) return 'You declined in the wallet. Nothing was charged.'
  if (code === -32002) return 'The wallet is waiting for an answer already: open it.'
  return 'The wallet did not sign. Nothing was charged.'
}
