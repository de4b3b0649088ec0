/**
 * Every literal `error` of this service, with its status and what it means. Failing dependencies are mapped to answers
 * here and nowhere else; codes of a refused payment come from packages/x402.
 */
import { type ErrorAnswer, errorAnswers, type RequestIssue } from '@tallystick/service-kit'
import { GradingStoreUnavailable } from './domain/closes/grading-store.ts'
import { LongWorkUnavailable } from './domain/grading/long-work.ts'

export const gradingErrors = {
  invalid_request: {
    status: 400,
    meaning: '`issues` names each field and what was expected there; nothing was charged.',
  },
  malformed_json: { status: 400, meaning: 'The body is not JSON; nothing was charged.' },
  invalid_token: {
    status: 401,
    meaning: 'An upload needs a bearer token; `error_description` says why this one is refused.',
  },
  payment_required: { status: 402, meaning: 'The body is the challenge.' },
  payment_already_used: { status: 402, meaning: 'That payment has already bought something else.' },
  insufficient_scope: { status: 403, meaning: 'The token is valid but lacks `grading.write`.' },
  not_found: { status: 404, meaning: 'There is no such entry, receipt or path.' },
  method_not_allowed: { status: 405, meaning: 'The path takes other methods: see `Allow`.' },
  idempotency_key_reused: {
    status: 409,
    meaning:
      'Your `Idempotency-Key`, or the identifier in your payment, already named another request; nothing was settled.',
  },
  payload_too_large: { status: 413, meaning: 'The body is over the route’s limit.' },
  unsupported_media_type: {
    status: 415,
    meaning: 'The body is declared as something other than JSON (or CSV, where that is taken).',
  },
  too_many_requests: {
    status: 429,
    meaning: 'This address has asked too often; `Retry-After` says when to go on.',
  },
  internal_error: {
    status: 500,
    meaning: 'A fault of the service, before any charge; the request id leads to its log.',
  },
  payment_pending: {
    status: 502,
    meaning: 'The payment is being completed: repeat the call without paying again.',
  },
  facilitator_unavailable: {
    status: 502,
    meaning:
      'The payment facilitator did not answer, or turned the payment away; the ledger shows no settlement.',
  },
  facilitator_turns_away: {
    status: 502,
    meaning:
      'The payment facilitator turned the last payments away; none is asked for until it is tried again.',
  },
  ledger_unavailable: {
    status: 502,
    meaning: 'The payment network could not be read; nothing was settled.',
  },
  payment_terms_unknown: {
    status: 502,
    meaning: 'The configured token is not the one on the network; no payment can be requested.',
  },
  store_unavailable: {
    status: 503,
    meaning: 'The ledger cannot be read or written; nothing was charged.',
    retryAfterSeconds: 5,
  },
  store_behind: {
    status: 503,
    meaning:
      'The ledger was put back: its own last checkpoint counts entries that it does not have. Nothing is read, sold or charged until the operator has brought them back or given them up; `message` says what is missing.',
    retryAfterSeconds: 5,
  },
  long_work_unavailable: {
    status: 503,
    meaning:
      'Too many audits or looks at picks wait, or this one took too long; nothing was charged.',
    retryAfterSeconds: 5,
  },
} as const

export const errorAnswer = errorAnswers(gradingErrors)

/** Most issues named in one answer: a thousand bad picks do not need a thousand lines. */
const ISSUES_MAX = 20

/** The 400 for malformed input (G3): every field at fault and what it expected. */
export function invalidRequest(issues: readonly RequestIssue[]): ErrorAnswer {
  const more = issues.length - ISSUES_MAX
  return errorAnswer('invalid_request', {
    details: { issues: issues.slice(0, ISSUES_MAX), ...(more > 0 ? { more_issues: more } : {}) },
  })
}

/** A body that is refused before it is parsed. */
export class RefusedBody extends Error {
  readonly issues: readonly RequestIssue[]

  constructor(issues: readonly RequestIssue[]) {
    super('the body is refused')
    this.issues = issues
  }
}

/** The answer to a refused body or a failed dependency; undefined for anything else, which is a bug. */
export function dependencyAnswer(error: unknown): ErrorAnswer | undefined {
  if (error instanceof RefusedBody) return invalidRequest(error.issues)
  if (error instanceof LongWorkUnavailable) return errorAnswer('long_work_unavailable')
  return error instanceof GradingStoreUnavailable ? errorAnswer('store_unavailable') : undefined
}
