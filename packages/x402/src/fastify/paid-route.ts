/**
 * Route options that put a price on one Fastify route (X1). They attach to the route itself, so there is no path to match
 * and none to slip past. What is sold, and how refusals are worded, is up to the caller.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Challenge, ChallengeError, PaymentTerms } from '../gate/challenge.ts'
import {
  type PaidJob,
  type PaymentOutcome,
  type PaymentProblem,
  problemOf,
  TERMS_UNKNOWN,
} from '../gate/paid-job.ts'
import type { PaymentGate } from '../gate/payment-gate.ts'
import { encodePaymentResponse, type PaymentHeaders } from '../gate/payment-headers.ts'
import type { Settlement } from '../payment.ts'

export type PaidRouteOptions<Prepared, Answer, Declined> = {
  readonly gate: PaymentGate
  /** What is on sale; undefined while that is unknown, for example without a fee payer (X11), which is a 502. */
  readonly terms: (request: FastifyRequest) => PaymentTerms | undefined
  /** The work for one request. The body is already validated, so bad input costs nothing. */
  readonly job: (request: FastifyRequest) => PaidJob<Prepared, Answer, Declined>
  /** Answers a request whose job declined before settlement. */
  readonly decline: (reply: FastifyReply, declined: Declined) => FastifyReply
  /** Sends a paid answer, whose headers are set; as Fastify sends a value by default. */
  readonly sendAnswer?: (reply: FastifyReply, answer: Answer) => FastifyReply
  /** Answers a problem in the service's own form; `{ error }` by default. */
  readonly sendProblem?: (reply: FastifyReply, problem: PaymentProblem) => FastifyReply
}

/**
 * Options for a paid GET or POST route: `app.route({ method: 'POST', url: '/api/grade', ...paidRoute(options) })`. HEAD
 * is never served, since it would run the handler: no HEAD route is derived, and a declared one answers 405.
 */
export function paidRoute<Prepared, Answer, Declined>(
  options: PaidRouteOptions<Prepared, Answer, Declined>,
) {
  const { gate, job, sendProblem = sendPlainProblem } = options
  return {
    exposeHeadRoute: false,
    onRequest: async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      if (request.method !== 'HEAD') return undefined
      const methods = [request.routeOptions.method ?? []]
        .flat()
        .filter((method) => method !== 'HEAD')
      const refusal = reply.code(405).header('allow', methods.join(', '))
      return await refusal.send({ error: 'method_not_allowed' })
    },
    handler(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> | undefined {
      const terms = options.terms(request)
      const headers = paymentHeadersOf(request)
      if (terms === undefined) {
        sendProblem(reply, TERMS_UNKNOWN)
      } else if (headers.paymentSignature === undefined && headers.xPayment === undefined) {
        // Most requests from strangers end here. They are answered without a promise and nothing is returned, since a
        // reply is a promise too.
        askToPay('payment_required', { options, reply, terms })
      } else {
        return gate
          .pay(headers, terms, job(request))
          .then((outcome) => sendOutcome(outcome, { options, reply, terms }))
      }
      return undefined
    },
  }
}

/** The payment headers of a request. Node joins a repeated header with a comma, which makes it undecodable. */
function paymentHeadersOf({ headers }: FastifyRequest): PaymentHeaders {
  return {
    paymentSignature: headers['payment-signature']?.toString(),
    xPayment: headers['x-payment']?.toString(),
  }
}

type Call<Prepared, Answer, Declined> = {
  readonly options: PaidRouteOptions<Prepared, Answer, Declined>
  readonly reply: FastifyReply
  readonly terms: PaymentTerms
}

/** A 402, unless a payment now would be turned away (X23). */
function askToPay<Prepared, Answer, Declined>(
  error: ChallengeError,
  { options, reply, terms }: Call<Prepared, Answer, Declined>,
): FastifyReply {
  const { gate, sendProblem = sendPlainProblem } = options
  const problem = gate.challengeProblem(terms)
  return problem === undefined
    ? sendChallenge(reply, gate.challenge(terms, error))
    : sendProblem(reply, problem)
}

function sendOutcome<Prepared, Answer, Declined>(
  outcome: PaymentOutcome<Answer, Declined>,
  call: Call<Prepared, Answer, Declined>,
): FastifyReply {
  const { options, reply } = call
  const { decline, sendAnswer = sendValue, sendProblem = sendPlainProblem } = options
  switch (outcome.kind) {
    case 'paid':
      markDelivery(reply, outcome.delivered)
      return sendAnswer(setPaymentResponse(reply, outcome.settlement), outcome.answer)
    case 'challenged':
      if (outcome.settlement !== undefined) void setPaymentResponse(reply, outcome.settlement)
      return askToPay(outcome.error, call)
    case 'declined':
      return decline(reply, outcome.declined)
    case 'pending':
    case 'unavailable':
    case 'key_conflict':
      return sendProblem(reply, problemOf(outcome))
    default:
      return outcome satisfies never
  }
}

/** Sends a 402 (X2, X5): the challenge's own bytes as body and header. */
function sendChallenge(reply: FastifyReply, challenge: Challenge): FastifyReply {
  // A string is sent unchanged: no serialiser may touch the bytes that the header repeats.
  return reply.code(402).headers(challenge.headers).serializer(String).send(challenge.body)
}

/** Puts a settlement into `PAYMENT-RESPONSE` and forbids caching of the answer (X5, X6). */
function setPaymentResponse(reply: FastifyReply, settlement: Settlement): FastifyReply {
  return reply
    .header('PAYMENT-RESPONSE', encodePaymentResponse(settlement))
    .header('cache-control', 'no-store')
}

/**
 * Tells the gate when a paid answer has left completely (X9). A client that disconnects earlier causes `close` without
 * `finish`; an answer that could not be sent finishes with another status. Neither counts as a delivery.
 */
function markDelivery(reply: FastifyReply, delivered: (() => Promise<void>) | undefined): void {
  if (delivered === undefined) return
  reply.raw.once('finish', () => {
    if (reply.raw.statusCode === 200) void delivered()
  })
}

const sendValue = (reply: FastifyReply, answer: unknown): FastifyReply => reply.send(answer)

function sendPlainProblem(
  reply: FastifyReply,
  { error, retryAfterSeconds }: PaymentProblem,
): FastifyReply {
  if (retryAfterSeconds !== undefined) void reply.header('retry-after', String(retryAfterSeconds))
  const status = error === 'idempotency_key_reused' ? 409 : 502
  return reply.code(status).header('cache-control', 'no-store').send({ error })
}
