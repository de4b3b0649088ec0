import { type ServiceApp, sendError } from '@tallystick/service-kit'
import type { PaymentGate, Settlement } from '@tallystick/x402'
import type { FastifyReply } from 'fastify'
import type { AccessOutcome, CallAccess } from '../domain/call-access.ts'
import { type AccessError, errorAnswer } from '../errors.ts'
import { neverStored } from './never-stored.ts'
import {
  accessErrorRows,
  accessGrantedSchema,
  agentQuery,
  paymentHeaders,
  paymentRequiredSchema,
} from './schemas.ts'

export type AccessRouteDeps = {
  /** Path, e.g. `/api/svc/access`. */
  readonly path: string
  readonly callAccess: CallAccess
  readonly gate: Pick<PaymentGate, 'challenge'>
  /** Value of `PAYMENT-RESPONSE`: base64 of the settlement's JSON. */
  readonly encodeSettlement: (settlement: Settlement) => string
}

/** Serves `GET /api/svc/access`: free inside a window, paid once outside of one. */
export function addAccessRoute(app: ServiceApp, deps: AccessRouteDeps): void {
  const schema = {
    summary: 'The paid resource: free inside an open window, otherwise paid once by x402.',
    description:
      'Without an open window the answer is 402 with an x402 challenge, in the body and, base64, in PAYMENT-REQUIRED. Repeat the call with PAYMENT-SIGNATURE; the window then renews itself while its balance lasts.',
    tags: ['access'],
    querystring: agentQuery,
    headers: paymentHeaders,
    response: { 200: accessGrantedSchema, 402: paymentRequiredSchema, ...accessErrorRows },
  }
  app.get(deps.path, { schema, onRequest: neverStored }, async (request, reply) => {
    const outcome = await deps.callAccess({
      agent: request.query.agent,
      requestId: request.id,
      headers: {
        paymentSignature: request.headers['payment-signature'],
        xPayment: request.headers['x-payment'],
      },
    })
    return sendOutcome(deps, reply, outcome)
  })
}

function sendOutcome(deps: AccessRouteDeps, reply: FastifyReply, outcome: AccessOutcome) {
  const fail = (error: AccessError, retryAfterSeconds?: number) =>
    sendError(reply, errorAnswer(error, retryAfterSeconds))
  switch (outcome.kind) {
    case 'granted':
      return withSettlement(deps, reply, outcome.settlement).send(outcome.body)
    case 'challenged': {
      const { body, headers } = deps.gate.challenge(outcome.terms, outcome.error)
      return withSettlement(deps, reply, outcome.settlement).code(402).headers(headers).send(body)
    }
    case 'quota-spent':
      return fail('quota_exhausted', outcome.retryAfterSeconds)
    case 'usage-unavailable':
      return fail('usage_unavailable')
    case 'payment-pending':
      return fail('payment_pending', outcome.retryAfterSeconds)
    case 'payments-unread':
      return fail('payments_unread')
    case 'no-fee-payer':
      return fail('no_fee_payer')
    case 'sales-paused':
      return fail('sales_paused')
    case 'payment-unavailable':
      return fail(
        outcome.dependency === 'facilitator' ? 'facilitator_unavailable' : 'ledger_unavailable',
      )
    case 'float-low':
      return fail('seller_float_low')
    case 'forward-refused':
      return fail('forward_refused')
    default:
      return outcome satisfies never
  }
}

function withSettlement(
  deps: AccessRouteDeps,
  reply: FastifyReply,
  settlement: Settlement | undefined,
): FastifyReply {
  return settlement === undefined
    ? reply
    : reply.header('PAYMENT-RESPONSE', deps.encodeSettlement(settlement))
}
