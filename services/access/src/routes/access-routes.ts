import { type ServiceApp, sendError } from '@tallystick/service-kit'
import { encodePaymentResponse, type PaymentGate, type Settlement } from '@tallystick/x402'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Hex } from '../domain/access-window.ts'
import type { AccessOutcome, CallAccess } from '../domain/call-access.ts'
import { errorAnswer } from '../errors.ts'
import {
  accessErrorSchema,
  accessGrantedSchema,
  paymentRequiredSchema,
  type Status,
  signInRequiredSchema,
  statusSchema,
} from '../wire/access-answers.ts'
import { accessHeaders, agentQuery } from '../wire/access-requests.ts'

export type AccessRouteDeps = {
  readonly callAccess: CallAccess
  readonly readStatus: (agent: Hex) => Promise<Status>
  readonly gate: Pick<PaymentGate, 'challenge'>
  /** `/.well-known/did.json` answers this. */
  readonly didDocument: Readonly<Record<string, unknown>>
}

/** Carries the token of a guarded agent in the answer to its proof. */
export const TOKEN_HEADER = 'ACCESS-TOKEN'

/** As the reference documents them. */
const CHALLENGE_HEADERS = {
  'PAYMENT-REQUIRED': { type: 'string', description: 'The body, byte for byte, in base64.' },
  'PAYMENT-RESPONSE': {
    type: 'string',
    description: 'Where a payment was refused: the settlement, JSON in base64.',
  },
}

const described = (description: string) => accessErrorSchema.describe(description)

const badAgent = described('`agent` missing or malformed; the chain was not read.')

/** Answers of the paid route and of polls are true only for a moment, so nothing may cache them (X5). */
async function neverStored(_request: FastifyRequest, reply: FastifyReply): Promise<void> {
  void reply.header('cache-control', 'no-store')
}

/** Serves `GET <path>`, e.g. `/api/svc/access`: free inside a window, paid once outside of one. */
export function addAccessRoute(app: ServiceApp, path: string, deps: AccessRouteDeps): void {
  const schema = {
    summary: 'The paid resource: free inside an open window, otherwise paid once by x402.',
    description:
      'Without an open window the answer is 402 with an x402 challenge, in the body and, base64, in PAYMENT-REQUIRED. Repeat the call with PAYMENT-SIGNATURE; the window then renews itself while its balance lasts. In the open window of an agent that is guarded the 402 has nothing to pay and asks for a proof of its key: repeat the call with SIGN-IN-WITH-X, and send what the answer has in ACCESS-TOKEN with later calls as `Authorization: Bearer`.',
    tags: ['access'],
    security: [{}, { signIn: [] }, { session: [] }],
    querystring: agentQuery,
    headers: accessHeaders,
    response: {
      200: accessGrantedSchema,
      400: badAgent,
      402: z
        .union([paymentRequiredSchema, signInRequiredSchema])
        .meta({ headers: CHALLENGE_HEADERS }),
      429: described(
        'The quota of this period is spent (it resets when the window renews), or calls come too fast.',
      ),
      502: described('An upstream read or the payment facilitator was unavailable.'),
      503: described(
        'The access contract is not deployed on the target network, or new sales are paused.',
      ),
    },
  }
  app.get(path, { schema, onRequest: neverStored }, async (request, reply) => {
    const outcome = await deps.callAccess({
      agent: request.query.agent,
      clientAddress: request.ip,
      authorization: request.headers.authorization,
      signIn: request.headers['sign-in-with-x'],
      requestId: request.id,
      headers: {
        paymentSignature: request.headers['payment-signature'],
        xPayment: request.headers['x-payment'],
      },
    })
    return sendOutcome(deps, reply, outcome)
  })
}

function sendOutcome({ gate }: AccessRouteDeps, reply: FastifyReply, outcome: AccessOutcome) {
  switch (outcome.kind) {
    case 'granted':
      if (outcome.token !== undefined) void reply.header(TOKEN_HEADER, outcome.token)
      // Built from typed parts: checking the schema would find nothing, and takes longer than the text.
      return withSettlement(reply, outcome.settlement)
        .type('application/json; charset=utf-8')
        .serializer(JSON.stringify)
        .send(outcome.body)
    case 'proof-required': {
      const { body, headers } = outcome.challenge
      return reply.code(402).headers(headers).send(body)
    }
    case 'challenged': {
      const { body, headers } = gate.challenge(outcome.terms, outcome.error)
      return withSettlement(reply, outcome.settlement).code(402).headers(headers).send(body)
    }
    case 'refused':
      return sendError(
        reply,
        errorAnswer(outcome.error, { retryAfterSeconds: outcome.retryAfterSeconds }),
      )
    default:
      return outcome satisfies never
  }
}

function withSettlement(reply: FastifyReply, settlement: Settlement | undefined): FastifyReply {
  return settlement === undefined
    ? reply
    : reply.header('PAYMENT-RESPONSE', encodePaymentResponse(settlement))
}

/** Serves `GET <path>`, e.g. `/api/svc/status`: free, without side effects, safe to poll, never 402. */
export function addStatusRoute(app: ServiceApp, path: string, deps: AccessRouteDeps): void {
  const schema = {
    summary: 'The state of a subscription, read from the contract. Free, and never 402.',
    tags: ['access'],
    querystring: agentQuery,
    response: {
      200: statusSchema,
      400: badAgent,
      502: described('The contract read failed.'),
      503: described('The access contract is not deployed on the target network.'),
    },
  }
  app.get(path, { schema, onRequest: neverStored }, async (request, reply) =>
    reply.send(await deps.readStatus(request.query.agent)),
  )
}

/** Serves the key that signs receipts, in the form of `did:web`. */
export function addDidRoute(
  app: ServiceApp,
  { didDocument }: Pick<AccessRouteDeps, 'didDocument'>,
): void {
  const schema = {
    summary: 'The keys that sign receipts of paid answers, as a did:web document.',
    tags: ['access'],
    response: { 200: z.record(z.string(), z.unknown()) },
  }
  app.get('/.well-known/did.json', { schema }, async () => didDocument)
}
