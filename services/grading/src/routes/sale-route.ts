/** The paid routes: one pick graded for $0.01, up to 1,000 audited for $0.20. sale-job.ts is the work that they sell. */
import { type ServiceApp, sendError } from '@tallystick/service-kit'
import { type PaymentProblem, paidRoute } from '@tallystick/x402/fastify'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { errorAnswer, invalidRequest } from '../errors.ts'
import { auditAnswerSchema } from '../wire/audit.ts'
import { cardSchema } from '../wire/cards.ts'
import { paymentHeaders } from '../wire/errors.ts'
import { auditSchema, gradeSchema } from '../wire/requests.ts'
import { paidErrorRows } from './error-rows.ts'
import { neverStored, sendJson } from './read-body.ts'
import {
  idempotencyKeyIssue,
  type ReadSale,
  readSold,
  SALE_KINDS,
  type SaleDoorDeps,
  type SaleKind,
  type SoldRequest,
  saleJob,
  salePath,
} from './sale-job.ts'

type SaleRoute = {
  readonly summary: string
  readonly description: string
  readonly body: z.ZodType
  readonly answer: z.ZodType
  readonly bodyLimitBytes: number
}

const ROUTES: Readonly<Record<SaleKind, SaleRoute>> = {
  grade: {
    summary: 'Grade one pick against its closing line: $0.01.',
    description:
      'Without a payment the answer is 402 with an x402 challenge, in the body and (base64) in PAYMENT-REQUIRED; malformed input is 400 before that. Repeat the call with PAYMENT-SIGNATURE. A pick without a recorded closing line is the paid outcome UNGRADED.',
    body: gradeSchema,
    answer: cardSchema,
    // One pick with every text at its longest, twice over.
    bodyLimitBytes: 8_192,
  },
  audit: {
    summary: 'Audit up to 1,000 picks: raw ROI beside a Sharp Score: $0.20.',
    description:
      'Paid like /api/grade. Every number can be recomputed from the cards in the answer. An audit commits no pick: it changes nothing in the truth table.',
    body: auditSchema,
    answer: auditAnswerSchema,
    // 1,000 picks of 1,000 bytes, three times the longest real one. The text kept with the payment may be slightly longer
    // than what was sent, and must stay below the gate's KEPT_REQUEST_BYTES_MAX.
    bodyLimitBytes: 1_000_000,
  },
}

const hasPayment = ({ headers }: FastifyRequest): boolean =>
  headers['payment-signature'] !== undefined || headers['x-payment'] !== undefined

/** A payment for nothing: the payer is told what to send, and nothing is settled. */
const NOTHING_ASKED = [{ field: 'body', expected: 'what the payment is for; nothing was settled' }]

const sendProblem = (reply: FastifyReply, { error, retryAfterSeconds }: PaymentProblem) =>
  sendError(reply, errorAnswer(error, { retryAfterSeconds }))

type Asked = Extract<ReadSale<SoldRequest>, { kind: 'asked' }>

/** Adds a paid route: 400 before 402, with or without a payment (G3); otherwise it settles once and answers. */
function addSaleRoute(app: ServiceApp, deps: SaleDoorDeps, kind: SaleKind): void {
  const { answer, bodyLimitBytes, ...documentation } = ROUTES[kind]
  const paid = paidRoute({
    gate: deps.gate,
    terms: () => deps.findTerms(kind, 'http'),
    job: (request) => {
      const { request: sale, text } = request.body as Asked
      const receivedAtSeconds = deps.clock.unixMs() / 1_000
      const idempotencyKey = request.headers['idempotency-key']?.toString()
      const askedSale = { request: sale, text, receivedAtSeconds, idempotencyKey }
      return saleJob(deps, { ...askedSale, requestId: request.id, sender: request.ip })
    },
    decline: (reply, declined: never) => reply.send(declined),
    sendAnswer: sendJson,
    sendProblem,
  })

  /** Answers requests whose payment does not matter; the others go on to the gate with their body read. */
  async function judge(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const keyIssue = idempotencyKeyIssue(request.headers['idempotency-key'])
    const read = await readSold(deps.longWork, kind, { body: request.body })
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
    const terms = deps.findTerms(kind, 'http')
    if (terms === undefined)
      return sendProblem(reply, { error: 'payment_terms_unknown', retryAfterSeconds: 5 })
    const problem = deps.gate.challengeProblem(terms)
    if (problem !== undefined) return sendProblem(reply, problem)
    const { body, headers } = deps.gate.challenge(terms, 'payment_required')
    return reply.code(402).headers(headers).serializer(String).send(body)
  }

  app.route({
    method: 'POST',
    url: salePath(kind),
    bodyLimit: bodyLimitBytes,
    schema: {
      tags: ['paid'],
      ...documentation,
      headers: paymentHeaders,
      response: { 200: answer, ...paidErrorRows },
    },
    // The schema is only documentation; `judge` reads the body and tells a probe from a mistake.
    validatorCompiler: () => () => true,
    // No schema may stand between a settled payment and its answer.
    serializerCompiler: () => JSON.stringify,
    ...paid,
    onRequest: [neverStored, paid.onRequest],
    preHandler: judge,
  })
}

export function addSaleRoutes(app: ServiceApp, deps: SaleDoorDeps): void {
  for (const kind of SALE_KINDS) addSaleRoute(app, deps, kind)
}
