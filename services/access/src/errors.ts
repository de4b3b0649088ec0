/**
 * Every literal `error` of this service, with its status and what it means. Failing dependencies are mapped to answers
 * here and nowhere else; codes of a refused payment come from packages/x402.
 */
import type { ErrorAnswer } from '@tallystick/service-kit'
import { ChainUnavailable, ContractAbsent } from './domain/access-contract.ts'
import { ResourceUnavailable } from './domain/paid-resource.ts'
import { MirrorUnavailable } from './domain/payment-log.ts'

/** Seconds after which a call that failed on a dependency is worth repeating. */
const RETRY_SECONDS = 5

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
  payment_already_used: { status: 402, meaning: 'That payment bought something else before.' },
  quota_exhausted: {
    status: 429,
    meaning: 'The quota of this period is spent; it resets when the window renews.',
  },
  chain_unavailable: { status: 502, meaning: 'The ledger did not answer.' },
  wrong_chain: {
    status: 502,
    meaning: 'The ledger’s endpoint serves another chain than the configured one.',
  },
  mirror_unavailable: { status: 502, meaning: 'The mirror node did not answer.' },
  resource_unavailable: {
    status: 502,
    meaning: 'The resource’s source did not answer; nothing was metered or settled.',
  },
  usage_unavailable: {
    status: 502,
    meaning: 'The call could not be recorded on chain, so it was not served.',
  },
  payment_pending: {
    status: 502,
    meaning: 'A payment for this agent is being completed: repeat the call without paying again.',
  },
  payments_unread: {
    status: 502,
    meaning:
      'The service has just started and has not read earlier payments yet; no payment is asked for.',
  },
  no_fee_payer: {
    status: 502,
    meaning:
      'No facilitator has named an account that pays transaction fees; no payment can be asked for.',
  },
  facilitator_unavailable: {
    status: 502,
    meaning: 'The payment facilitator did not answer; nothing was settled.',
  },
  ledger_unavailable: {
    status: 502,
    meaning: 'The payer’s account could not be read; nothing was settled.',
  },
  seller_float_low: {
    status: 502,
    meaning: 'The seller’s account cannot forward a purchase at the moment; nothing was settled.',
  },
  forward_refused: {
    status: 502,
    meaning: 'The contract would refuse the purchase; nothing was settled.',
  },
  contract_not_deployed: {
    status: 503,
    meaning: 'The access contract is not deployed on the target network.',
  },
  sales_paused: { status: 503, meaning: 'New sales are paused; nothing was settled.' },
} as const satisfies Readonly<Record<string, { readonly status: number; readonly meaning: string }>>

export type AccessError = keyof typeof accessErrors

/** The answer for one code; a `retryAfterSeconds` becomes `Retry-After`. */
export function errorAnswer(error: AccessError, retryAfterSeconds?: number): ErrorAnswer {
  return {
    status: accessErrors[error].status,
    error,
    headers: {
      'cache-control': 'no-store',
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
    },
  }
}

/** The answer to a dependency that failed; undefined for anything else, which is a bug. */
export function dependencyAnswer(error: unknown): ErrorAnswer | undefined {
  if (error instanceof ContractAbsent) return errorAnswer('contract_not_deployed')
  if (error instanceof ChainUnavailable)
    return errorAnswer(error.isAnotherChain ? 'wrong_chain' : 'chain_unavailable', RETRY_SECONDS)
  if (error instanceof MirrorUnavailable) return errorAnswer('mirror_unavailable', RETRY_SECONDS)
  if (error instanceof ResourceUnavailable)
    return errorAnswer('resource_unavailable', RETRY_SECONDS)
  return undefined
}
