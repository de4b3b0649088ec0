import { type Clock, type ServiceApp, sendError } from '@tallystick/service-kit'
import type { PaymentGate, PaymentTerms } from '@tallystick/x402'
import { type PaymentProblem, paidRoute } from '@tallystick/x402/fastify'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { answerText } from '../domain/card-text.ts'
import { errorAnswer, invalidRequest } from '../errors.ts'
import { type SaleDeps, saleJob, salePath } from '../sale-job.ts'
import { paymentHeaders } from '../wire/errors.ts'
import { paidErrorRows } from './error-rows.ts'
import { idempotencyKeyIssue } from './idempotency-key.ts'
import { neverStored } from './read-body.ts'
import { type ReadSale, readSale, type SaleKind } from './read-sale.ts'

export type SaleRouteDeps = SaleDeps & {
  readonly gate: PaymentGate
  /** What is on sale; undefined while the network has another token than the configured one. */
  readonly termsOf: (kind: SaleKind) => PaymentTerms | undefined
  readonly clock: Clock
}

/** What one of the two paid routes is documented as. */
export type SaleRoute = {
  readonly kind: SaleKind
  readonly summary: string
  readonly description: string
  readonly body: z.ZodType
  readonly answer: z.ZodType
  /** Largest body, bytes. */
  readonly bodyLimitBytes: number
}

const hasPayment = ({ headers }: FastifyRequest): boolean =>
  headers['payment-signature'] !== undefined || headers['x-payment'] !== undefined

/** A payment for nothing: the payer is told what to send, and nothing is settled. */
const NOTHING_ASKED = [{ field: 'body', expected: 'what the payment is for; nothing was settled' }]

const sendProblem = (reply: FastifyReply, { error, retryAfterSeconds }: PaymentProblem) =>
  sendError(reply, errorAnswer(error, { retryAfterSeconds }))

type Asked = Extract<ReadSale, { kind: 'asked' }>

/** Adds a paid route: 400 before 402, with or without a payment (G3); otherwise settled once, and answered. */
export function addSaleRoute(app: ServiceApp, deps: SaleRouteDeps, route: SaleRoute): void {
  const { kind } = route
  const paid = paidRoute({
    gate: deps.gate,
    terms: () => deps.termsOf(kind),
    job: (request) => {
      const { request: sale, text } = request.body as Asked
      const receivedAtSeconds = deps.clock.unixMs() / 1_000
      const idempotencyKey = request.headers['idempotency-key']?.toString()
      const asked = { request: sale, text, receivedAtSeconds, idempotencyKey }
      return saleJob(deps, { ...asked, requestId: request.id })
    },
    decline: (reply, declined: never) => reply.send(declined),
    sendProblem,
    sendKeyConflict: (reply, error) => sendError(reply, errorAnswer(error)),
  })

  /** Answers what needs no payment looked at; everything else goes on to the gate with its request read. */
  async function judge(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const keyIssue = idempotencyKeyIssue(request.headers['idempotency-key'])
    const read = readSale(kind, request.body)
    const issues = [
      ...(keyIssue === undefined ? [] : [keyIssue]),
      ...(read.kind === 'malformed' ? read.issues : []),
      ...(read.kind === 'probe' && hasPayment(request) ? NOTHING_ASKED : []),
    ]
    if (issues.length > 0) return sendError(reply, invalidRequest(issues))
    if (read.kind !== 'probe') {
      request.body = read
      return undefined
    }
    const terms = deps.termsOf(kind)
    if (terms === undefined)
      return sendProblem(reply, { error: 'payment_terms_unknown', retryAfterSeconds: 5 })
    const { body, headers } = deps.gate.challenge(terms, 'payment_required')
    return reply.code(402).headers(headers).serializer(String).send(body)
  }

  app.route({
    method: 'POST',
    url: salePath(kind),
    bodyLimit: route.bodyLimitBytes,
    schema: {
      tags: ['paid'],
      summary: route.summary,
      description: route.description,
      headers: paymentHeaders,
      body: route.body,
      response: { 200: route.answer, ...paidErrorRows },
    },
    // The schema is the documentation; the body is read by `judge`, which knows a probe from a mistake.
    validatorCompiler: () => () => true,
    // What was paid for leaves as it is: no schema may stand between a settled payment and its answer.
    serializerCompiler: ({ httpStatus }) => (httpStatus === '200' ? answerText : JSON.stringify),
    ...paid,
    onRequest: [neverStored, paid.onRequest],
    preHandler: judge,
  })
}
