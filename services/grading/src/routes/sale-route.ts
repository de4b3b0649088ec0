/**
 * The paid routes: one pick graded for $0.01, up to 1,000 audited for $0.20. The grade or audit is computed before money
 * moves, and kept and released after (G4); the same job serves a request and, at the next start, one that an earlier
 * process left.
 */

import { hash } from 'node:crypto'
import { type Clock, type ServiceApp, sendError } from '@tallystick/service-kit'
import type { PaidJob, PaymentGate, PaymentTerms, Reservation, Resumed } from '@tallystick/x402'
import { type PaymentProblem, paidRoute } from '@tallystick/x402/fastify'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { answerText } from '../domain/card-text.ts'
import type { Grader } from '../domain/grader.ts'
import { errorAnswer, invalidRequest } from '../errors.ts'
import { type AuditAnswer, auditAnswerSchema } from '../wire/audit.ts'
import { type Card, cardSchema } from '../wire/cards.ts'
import { paymentHeaders } from '../wire/errors.ts'
import { auditSchema, gradeSchema } from '../wire/requests.ts'
import { paidErrorRows } from './error-rows.ts'
import { neverStored } from './read-body.ts'
import {
  idempotencyKeyIssue,
  type ReadSale,
  readSale,
  type SaleKind,
  type SaleRequest,
} from './read-sale.ts'

export type SaleRouteDeps = SaleDeps & {
  readonly gate: PaymentGate
  /** What is on sale; undefined while the network's token is not the configured one. */
  readonly termsOf: (kind: SaleKind) => PaymentTerms | undefined
  readonly clock: Clock
}

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

type Asked = Extract<ReadSale, { kind: 'asked' }>

/** Adds a paid route: 400 before 402, with or without a payment (G3); otherwise it settles once and answers. */
function addSaleRoute(app: ServiceApp, deps: SaleRouteDeps, kind: SaleKind): void {
  const { answer, bodyLimitBytes, ...documentation } = ROUTES[kind]
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
  })

  /** Answers requests whose payment does not matter; the others go on to the gate with their body read. */
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
    serializerCompiler: ({ httpStatus }) => (httpStatus === '200' ? answerText : JSON.stringify),
    ...paid,
    onRequest: [neverStored, paid.onRequest],
    preHandler: judge,
  })
}

export function addSaleRoutes(app: ServiceApp, deps: SaleRouteDeps): void {
  addSaleRoute(app, deps, 'grade')
  addSaleRoute(app, deps, 'audit')
}

type SaleAnswer = Card | AuditAnswer

/** What is known about a sale before money moves. */
type PreparedSale = {
  readonly answer: SaleAnswer
  /** When the payment's first request came, Unix seconds. */
  readonly receivedAtSeconds: number
}

type SaleDeps = {
  readonly grader: Pick<Grader, 'grade' | 'release' | 'audit'>
  /** Called for each sale once its answer exists. */
  readonly report: (sale: SoldAnswer) => void
}

/** A paid answer. */
export type SoldAnswer =
  | { readonly kind: 'grade'; readonly card: Card }
  | { readonly kind: 'audit'; readonly audit: AuditAnswer }

/** A request as sold. */
type AskedSale = {
  readonly request: SaleRequest
  /** The canonical text of its body. */
  readonly text: string
  readonly receivedAtSeconds: number
  readonly idempotencyKey?: string | undefined
  /** The request's id, for the log; absent for a sale that an earlier process left. */
  readonly requestId?: string | undefined
}

export const salePath = (kind: SaleKind): string => `/api/${kind}`

/** Method, route and SHA-256 of the body: what a payment is tied to (X7). */
const saleFingerprint = (kind: SaleKind, text: string): string =>
  `POST ${salePath(kind)} ${hash('sha256', text)}`

/** What is kept with a payment, so that the next process can repeat its work. */
const keptSale = ({ request, receivedAtSeconds, text }: AskedSale): string =>
  `${request.kind} ${receivedAtSeconds} ${text}`

const KEPT_SALE = /^(grade|audit) (\d+(?:\.\d+)?) /

/** When a kept sale was received, Unix seconds; undefined for any other text. */
const receivedAtOf = (kept: string | undefined): number | undefined => {
  const match = KEPT_SALE.exec(kept ?? '')
  return match === null ? undefined : Number(match[2])
}

/** A kept sale as requested; undefined for any other text. */
function readKeptSale(kept: string): AskedSale | undefined {
  const match = KEPT_SALE.exec(kept)
  if (match === null) return undefined
  const read = readSale(match[1] as SaleKind, JSON.parse(kept.slice(match[0].length)))
  if (read.kind !== 'asked') return undefined
  return { request: read.request, text: read.text, receivedAtSeconds: Number(match[2]) }
}

/** The work of one paid request. */
function saleJob(
  { grader, report }: SaleDeps,
  asked: AskedSale,
): PaidJob<PreparedSale, SaleAnswer, never> {
  const { idempotencyKey, receivedAtSeconds, request, requestId, text } = asked
  const fingerprint = saleFingerprint(request.kind, text)
  return {
    fingerprint,
    requestId,
    // Payers are not serialised: a payment in flight for the same thing is found by its fingerprint.
    subject: fingerprint,
    keepsAnswer: true,
    idempotencyKey,
    request: keptSale(asked),
    async prepare(_payment, first) {
      const answer =
        request.kind === 'grade'
          ? await grader.grade(request.pick)
          : await grader.audit(request.audit)
      const prepared = { answer, receivedAtSeconds: receivedAtOf(first) ?? receivedAtSeconds }
      return { kind: 'ready', prepared }
    },
    // The gate itself honours only what its store reserved while the nonce was unused (X10).
    mayHonour: async () => true,
    async fulfil(prepared, { landedAtSeconds, payment }) {
      if (request.kind === 'audit') {
        const audit = prepared.answer as AuditAnswer
        report({ kind: 'audit', audit })
        return audit
      }
      const card = await grader.release({
        pick: request.pick,
        card: prepared.answer as Card,
        payer: payment.payer,
        paymentId: payment.id,
        // Received means paid: a payer must not hold a payment back and choose after the start.
        receivedAtSeconds: Math.max(prepared.receivedAtSeconds, landedAtSeconds ?? 0),
      })
      report({ kind: 'grade', card })
      return card
    },
  }
}

function unasked(): never {
  throw new Error('a payment without a request is not honoured')
}

/** A payment that had expired when it was reserved was only looked up: there is nothing to release. */
const nothingToGive = ({
  fingerprint,
  subject,
}: Reservation): PaidJob<PreparedSale, SaleAnswer, never> => ({
  fingerprint,
  subject,
  prepare: unasked,
  mayHonour: async () => false,
  fulfil: unasked,
})

/**
 * Resumes what an earlier process left open (X9): looks each sale up on the ledger, and completes it if its payment
 * landed. Resolves when each has an outcome or is pending in the background. Throws what the store's `open` throws.
 */
export async function resumeSales(
  deps: SaleDeps & { readonly gate: Pick<PaymentGate, 'resumeOpen'> },
  hear: (resumed: Resumed) => void,
): Promise<void> {
  await deps.gate.resumeOpen((reservation) => {
    if (reservation.request === undefined) return nothingToGive(reservation)
    const asked = readKeptSale(reservation.request)
    // Perhaps paid, but unreadable to this version: left open for a version that can read it.
    if (asked === undefined) return undefined
    // As reserved: a newer version may write the same request in another order.
    const { fingerprint, subject } = reservation
    return { ...saleJob(deps, asked), fingerprint, subject }
  }, hear)
}
