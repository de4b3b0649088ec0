/** Answers a paid call, whatever serves it: status, headers and body of each outcome. */
import type { PaymentTerms } from './challenge.ts'
import {
  type JobOptions,
  type PaymentOutcome,
  type PaymentProblem,
  paymentProblem,
  TERMS_UNKNOWN,
} from './paid-job.ts'
import type { PaymentGate } from './payment-gate.ts'
import { encodePaymentResponse, type PaymentHeaders } from './payment-headers.ts'

type Headers = Readonly<Record<string, string>>

export type PaidResponse<Answer, Declined> =
  | {
      readonly kind: 'sold'
      readonly status: 200
      readonly headers: Headers
      readonly body: Answer
      /** Call it once the whole answer has left. */
      readonly delivered?: (() => Promise<void>) | undefined
    }
  /** `prepare` said no, and nothing was settled. */
  | {
      readonly kind: 'declined'
      readonly status: 422
      readonly headers: Headers
      readonly body: Declined
    }
  /** JSON text, to be sent unchanged: its bytes are repeated in a header. */
  | {
      readonly kind: 'challenge'
      readonly status: 402
      readonly headers: Headers
      readonly body: string
    }
  | {
      readonly kind: 'problem'
      readonly status: 409 | 502
      readonly headers: Headers
      readonly body: string
      readonly problem: PaymentProblem
    }

const NO_STORE = { 'cache-control': 'no-store' }
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' }
const TEXT = { 'content-type': 'text/plain; charset=utf-8' }

/** The answer to an outcome of `gate.pay` (X5, X6, X9). A 402 only if a payment now would not be turned away (X23). */
export function respond<Answer, Declined>(
  gate: PaymentGate,
  terms: PaymentTerms | undefined,
  outcome: PaymentOutcome<Answer, Declined>,
): PaidResponse<Answer, Declined> {
  if (terms === undefined) return problemResponse(TERMS_UNKNOWN)
  switch (outcome.kind) {
    case 'paid': {
      const { answer, delivered, settlement } = outcome
      const headers = { 'PAYMENT-RESPONSE': encodePaymentResponse(settlement), ...NO_STORE }
      return { kind: 'sold', status: 200, headers, body: answer, delivered }
    }
    case 'challenged': {
      const { error, settlement } = outcome
      const refused = settlement && { 'PAYMENT-RESPONSE': encodePaymentResponse(settlement) }
      const later = gate.challengeProblem(terms)
      if (later !== undefined) return problemResponse(later, refused)
      const { body, headers } = gate.challenge(terms, error)
      return {
        kind: 'challenge',
        status: 402,
        headers: refused === undefined ? headers : { ...headers, ...refused },
        body,
      }
    }
    case 'declined':
      return { kind: 'declined', status: 422, headers: NO_STORE, body: outcome.declined }
    case 'pending':
    case 'unavailable':
    case 'key_conflict':
      return problemResponse(paymentProblem(outcome))
    default:
      return outcome satisfies never
  }
}

function problemResponse(
  problem: PaymentProblem,
  also?: Headers,
): Extract<PaidResponse<never, never>, { kind: 'problem' }> {
  const { error, retryAfterSeconds: seconds } = problem
  const later = seconds !== undefined && { 'retry-after': String(seconds) }
  return {
    kind: 'problem',
    status: error === 'idempotency_key_reused' ? 409 : 502,
    headers: { ...NO_STORE, ...JSON_TYPE, ...later, ...also },
    body: JSON.stringify({ error }),
    problem,
  }
}

/** The bytes of a response whose caller has no form of its own: text as it is, everything else as JSON. */
export function renderText(response: PaidResponse<unknown, unknown>): {
  readonly text: string
  readonly headers: Headers
} {
  const { body, headers } = response
  if (typeof body === 'string') return { text: body, headers: { ...TEXT, ...headers } }
  return { text: JSON.stringify(body ?? null), headers: { ...headers, ...JSON_TYPE } }
}

export const UNPAID = { kind: 'challenged', error: 'payment_required' } as const

/** One route of any framework: what it sells, and how it answers what is its own. */
export type PaidRoute<Request, Prepared, Answer, Declined> = {
  readonly gate: PaymentGate
  /** Says what is on sale; undefined while that is unknown, for example without a fee payer (X11), which is a 502. */
  readonly terms: (request: Request) => PaymentTerms | undefined
  /** The work for one request; made only if there is a payment. */
  readonly job: (request: Request) => JobOptions<Prepared, Answer, Declined>
}

/** Answers one call, with the values of `PAYMENT-SIGNATURE` and `X-PAYMENT`. Refuse a HEAD before: it would buy. */
export async function answerPaidCall<Request, Prepared, Answer, Declined>(
  request: Request,
  headers: PaymentHeaders,
  { gate, ...route }: PaidRoute<Request, Prepared, Answer, Declined>,
): Promise<PaidResponse<Answer, Declined>> {
  const terms = route.terms(request)
  const isUnpaid = headers.paymentSignature === undefined && headers.xPayment === undefined
  if (terms === undefined || isUnpaid) return respond<Answer, Declined>(gate, terms, UNPAID)
  return respond(gate, terms, await gate.pay(headers, terms, route.job(request)))
}
