/**
 * Every literal `error` of this service, with its status and what it means. Failing dependencies are mapped to answers
 * here and nowhere else; codes of a refused payment come from packages/x402.
 */
import { type ErrorAnswer, errorAnswers } from '@tallystick/service-kit'
import { LedgerUnavailable } from '@tallystick/x402'
import { ChainUnavailable, ContractAbsent } from './domain/access-contract.ts'
import { ResourceUnavailable } from './domain/access-parts.ts'

/** A batch is sealed within 0.1 s unless the ledger is behind. */
const USAGE_RETRY_SECONDS = 1
/** The first sweeps of a process are a second apart. */
const FIRST_SWEEP_RETRY_SECONDS = 2
/** A short failure is over by then; a dependency that is down is not asked too often. */
const DEPENDENCY_RETRY_SECONDS = 5
/** The facilitator is asked who pays fees every 30 s. */
const FEE_PAYER_RETRY_SECONDS = 10
/** The seller has to act. */
const SELLER_RETRY_SECONDS = 30

export const accessErrors = {
  invalid_agent: {
    status: 400,
    meaning: '`agent` is missing, repeated or not an EVM address; the chain was not read.',
  },
  payment_required: {
    status: 402,
    meaning: 'No open window and no payment; the body is the challenge.',
  },
  payment_memo_mismatch: {
    status: 402,
    meaning: 'The payment’s memo names another agent; nothing was settled.',
  },
  payment_already_used: {
    status: 402,
    meaning: 'That payment bought before, or can buy for another agent only.',
  },
  agent_unheld: {
    status: 402,
    meaning:
      'Nobody acts under the address in `agent`, as `notice` explains; the payment was not settled.',
  },
  sign_in_required: {
    status: 402,
    meaning: 'The agent is guarded and its window open: nothing to pay, prove its key.',
  },
  sign_in_already_used: { status: 402, meaning: 'That proof served a call before.' },
  token_invalid: {
    status: 402,
    meaning: 'The bearer token is none, another agent’s, or of another deployment.',
  },
  token_expired: { status: 402, meaning: 'The bearer token has ended: prove the key again.' },
  key_not_current: {
    status: 402,
    meaning:
      'The agent’s account has another key by now; only its own transaction can take the guard off.',
  },
  key_unsupported: {
    status: 402,
    meaning: 'The agent’s account has no ECDSA key, which alone can prove itself here.',
  },
  too_many_requests: {
    status: 429,
    meaning: 'Calls for this agent, or from this address, come too fast; the quota is untouched.',
  },
  quota_exhausted: {
    status: 429,
    meaning: 'The quota of this period is spent; it resets when the window renews.',
  },
  chain_unavailable: {
    status: 502,
    meaning: 'The ledger did not answer.',
    retryAfterSeconds: DEPENDENCY_RETRY_SECONDS,
  },
  wrong_chain: {
    status: 502,
    meaning: 'The ledger’s endpoint serves another chain than the configured one.',
    retryAfterSeconds: DEPENDENCY_RETRY_SECONDS,
  },
  resource_unavailable: {
    status: 502,
    meaning: 'The resource’s source did not answer; nothing was metered or settled.',
    retryAfterSeconds: DEPENDENCY_RETRY_SECONDS,
  },
  usage_unavailable: {
    status: 502,
    meaning: 'The call could not be recorded on chain, so it was not served.',
    retryAfterSeconds: USAGE_RETRY_SECONDS,
  },
  payment_pending: {
    status: 502,
    meaning: 'A payment for this agent is being completed: repeat the call without paying again.',
  },
  payments_unread: {
    status: 502,
    meaning:
      'The service has just started and has not read earlier payments yet; no payment is asked for.',
    retryAfterSeconds: FIRST_SWEEP_RETRY_SECONDS,
  },
  no_fee_payer: {
    status: 502,
    meaning:
      'No facilitator has named an account that pays transaction fees; no payment can be asked for.',
    retryAfterSeconds: FEE_PAYER_RETRY_SECONDS,
  },
  facilitator_unavailable: {
    status: 502,
    meaning:
      'The payment facilitator did not answer, or turned the payment away; the ledger shows no settlement.',
    retryAfterSeconds: DEPENDENCY_RETRY_SECONDS,
  },
  facilitator_turns_away: {
    status: 502,
    meaning:
      'The payment facilitator turned the last payments away; none is asked for until it is tried again.',
  },
  ledger_unavailable: {
    status: 502,
    meaning: 'The payer’s or the agent’s account could not be read; nothing was settled.',
    retryAfterSeconds: DEPENDENCY_RETRY_SECONDS,
  },
  seller_float_low: {
    status: 502,
    meaning: 'The seller’s account cannot forward a purchase at the moment; nothing was settled.',
    retryAfterSeconds: SELLER_RETRY_SECONDS,
  },
  forward_refused: {
    status: 502,
    meaning: 'The contract would refuse the purchase; nothing was settled.',
    retryAfterSeconds: SELLER_RETRY_SECONDS,
  },
  contract_not_deployed: {
    status: 503,
    meaning: 'The access contract is not deployed on the target network.',
  },
  sales_stopped: {
    status: 503,
    meaning:
      'The seller has to put something right first, which `/ready` names; nothing was asked for or settled.',
    retryAfterSeconds: SELLER_RETRY_SECONDS,
  },
  sales_paused: { status: 503, meaning: 'New sales are paused; nothing was settled.' },
  offer_retired: {
    status: 503,
    meaning: 'The seller has retired the offer and set no other yet; nothing was settled.',
  },
} as const

export const errorAnswer = errorAnswers(accessErrors)

/** The answer to a dependency that failed; undefined for anything else, which is a bug. */
export function dependencyAnswer(error: unknown): ErrorAnswer | undefined {
  if (error instanceof ContractAbsent) return errorAnswer('contract_not_deployed')
  if (error instanceof ChainUnavailable)
    return errorAnswer(error.isAnotherChain ? 'wrong_chain' : 'chain_unavailable')
  if (error instanceof ResourceUnavailable) return errorAnswer('resource_unavailable')
  if (error instanceof LedgerUnavailable) return errorAnswer('ledger_unavailable')
  return undefined
}
