/**
 * Route options that put a price on one Fastify route (X1). They attach to the route itself, so there is no path to match
 * and none to slip past. What is sold, and how refusals are worded, is up to the caller.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PaymentTerms } from '../gate/challenge.ts'
import type { JobOptions, PaymentProblem } from '../gate/paid-job.ts'
import { type PaidResponse, respond, UNPAID } from '../gate/paid-response.ts'
import type { PaymentGate } from '../gate/payment-gate.ts'
import type { PaymentHeaders } from '../gate/payment-headers.ts'

export type PaidRouteOptions<Prepared, Answer, Declined> = {
  readonly gate: PaymentGate
  /** Says what is on sale; undefined while that is unknown, for example without a fee payer (X11), which is a 502. */
  readonly terms: (request: FastifyRequest) => PaymentTerms | undefined
  /** The work for one request. The body is already validated, so bad input costs nothing. */
  readonly job: (request: FastifyRequest) => JobOptions<Prepared, Answer, Declined>
  /** Answers a request whose job declined before settlement; by default 422 with what it declined with. */
  readonly decline?: (reply: FastifyReply, declined: Declined) => FastifyReply
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
  const { gate, job } = options
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
      const headers = readPaymentValues(request)
      // Most requests from strangers end here. They are answered without a promise and nothing is returned, since a
      // reply is a promise too.
      if (terms === undefined || isUnpaid(headers))
        send(respond<Answer, Declined>(gate, terms, UNPAID), reply, options)
      else
        return gate
          .pay(headers, terms, job(request))
          .then((outcome) => send(respond(gate, terms, outcome), reply, options))
      return undefined
    },
  }
}

/** The payment headers of a request. Node joins a repeated header with a comma, which makes it undecodable. */
function readPaymentValues({ headers }: FastifyRequest): PaymentHeaders {
  return {
    paymentSignature: headers['payment-signature']?.toString(),
    xPayment: headers['x-payment']?.toString(),
  }
}

const isUnpaid = ({ paymentSignature, xPayment }: PaymentHeaders): boolean =>
  paymentSignature === undefined && xPayment === undefined

function send<Prepared, Answer, Declined>(
  response: PaidResponse<Answer, Declined>,
  reply: FastifyReply,
  options: PaidRouteOptions<Prepared, Answer, Declined>,
): FastifyReply {
  const { decline, sendAnswer, sendProblem } = options
  const { body, headers, kind, status } = response
  if (kind === 'declined' && decline !== undefined) return decline(reply, response.body)
  if (kind === 'problem' && sendProblem !== undefined) {
    const settlement = headers['PAYMENT-RESPONSE']
    if (settlement !== undefined) void reply.header('PAYMENT-RESPONSE', settlement)
    return sendProblem(reply, response.problem)
  }
  void reply.code(status).headers(headers)
  if (kind === 'sold') {
    markDelivery(reply, response.delivered)
    return sendAnswer === undefined ? reply.send(body) : sendAnswer(reply, response.body)
  }
  // Text is sent unchanged: no serialiser may touch the bytes that a header repeats.
  return kind === 'declined' ? reply.send(body) : reply.serializer(String).send(body)
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
