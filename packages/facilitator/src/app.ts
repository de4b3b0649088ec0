/**
 * The facilitator's HTTP interface: `POST /verify`, `POST /settle` and `GET /supported` as x402 v2 defines them and
 * official clients call them, plus what every service serves. A failure is a 503 with a code; a refused payment is a 200.
 */
import {
  createServiceApp,
  type ErrorAnswer,
  errorBody,
  type RequestIssue,
  type ServiceApp,
  type ServiceAppOptions,
} from '@tallystick/service-kit'
import { LedgerUnavailable } from '@tallystick/x402'
import { x402Facilitator } from '@x402/core/facilitator'
import type {
  Network,
  PaymentPayload,
  PaymentRequirements,
  SchemeNetworkFacilitator,
} from '@x402/core/types'
import { z } from 'zod'
import { ConsensusUnavailable, refusedResponse } from './settlement.ts'

type FacilitatorAppOptions = Pick<
  ServiceAppOptions,
  'clock' | 'logger' | 'registry' | 'metricsToken' | 'readiness' | 'home'
> & {
  /** Each network with the scheme that settles on it. */
  readonly schemes: readonly {
    readonly network: string
    readonly scheme: SchemeNetworkFacilitator
  }[]
}

/** A payment for ten Hedera nodes is 8 KiB in base64; the rest is two requirements, a resource and its description. */
const BODY_LIMIT_BYTES = 32_768

/** How long a 503 asks callers to wait: about one consensus round. */
const RETRY_AFTER_SECONDS = '3'

const requirement = z.looseObject({
  scheme: z.string(),
  network: z.string().regex(/^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/, 'a CAIP-2 network'),
  asset: z.string(),
  amount: z.string().describe('Base units, decimal digits.'),
  payTo: z.string(),
  maxTimeoutSeconds: z.number(),
  extra: z.record(z.string(), z.unknown()).default({}),
})
const request = z
  .object({
    x402Version: z.number(),
    paymentPayload: z.looseObject({
      x402Version: z.number(),
      payload: z.record(z.string(), z.unknown()),
      accepted: requirement,
    }),
    paymentRequirements: requirement,
  })
  .describe('A payment and what it should pay.')
const verifyAnswer = z.looseObject({
  isValid: z.boolean(),
  invalidReason: z.string().optional(),
  payer: z.string().optional(),
})
const settleAnswer = z.looseObject({
  success: z.boolean(),
  errorReason: z.string().optional(),
  transaction: z.string().describe('Transaction id or hash; empty if nothing was submitted.'),
  network: z.string(),
  payer: z.string().optional(),
  amount: z.string().optional(),
})
const supportedAnswer = z.object({
  kinds: z.array(
    z.looseObject({ x402Version: z.number(), scheme: z.string(), network: z.string() }),
  ),
  extensions: z.array(z.string()),
  signers: z.record(z.string(), z.array(z.string())),
})

type Body = z.output<typeof request>

/** The two refusals that no scheme can make, because none is responsible. */
function unroutable(facilitator: x402Facilitator, body: Body): string | undefined {
  if (body.x402Version !== 2 || body.paymentPayload.x402Version !== 2) return 'invalid_x402_version'
  const { network, scheme } = body.paymentRequirements
  const { kinds } = facilitator.getSupported()
  if (kinds.some((kind) => kind.scheme === scheme && kind.network === network)) return undefined
  return kinds.some((kind) => kind.scheme === scheme) ? 'network_mismatch' : 'unsupported_scheme'
}

/** The shapes of @x402/core, whose network type is narrower than its wire format. */
const wireTypes = (body: Body): [PaymentPayload, PaymentRequirements] => [
  body.paymentPayload as unknown as PaymentPayload,
  body.paymentRequirements as unknown as PaymentRequirements,
]

/** 503: nothing was submitted, and the same payment may be sent again. */
function unavailable(error: unknown): ErrorAnswer | undefined {
  const code =
    error instanceof ConsensusUnavailable
      ? error.problem
      : error instanceof LedgerUnavailable
        ? 'ledger_unavailable'
        : undefined
  return code === undefined
    ? undefined
    : { status: 503, error: code, headers: { 'retry-after': RETRY_AFTER_SECONDS } }
}

/** Names the reason as both answers do, for clients that also look for one in a 400. */
const malformed = (issues: readonly RequestIssue[]): ErrorAnswer => ({
  status: 400,
  error: 'invalid_payload',
  details: { issues, invalidReason: 'invalid_payload', errorReason: 'invalid_payload' },
})

function addRoutes(app: ServiceApp, facilitator: x402Facilitator): void {
  const errors = { 400: errorBody, 503: errorBody }
  app.get(
    '/supported',
    {
      exposeHeadRoute: true,
      schema: {
        summary: 'Schemes, networks and fee payers that this facilitator supports.',
        response: { 200: supportedAnswer },
      },
    },
    async () => facilitator.getSupported(),
  )
  app.post(
    '/verify',
    {
      schema: {
        summary: 'Whether a payment would be settled; submits nothing.',
        body: request,
        response: { 200: verifyAnswer, ...errors },
      },
    },
    async ({ body }) => {
      const invalidReason = unroutable(facilitator, body)
      if (invalidReason !== undefined) return { isValid: false, invalidReason }
      return { ...(await facilitator.verify(...wireTypes(body))) }
    },
  )
  app.post(
    '/settle',
    {
      schema: {
        summary: 'Submits a payment once and answers with what the ledger recorded.',
        body: request,
        response: { 200: settleAnswer, ...errors },
      },
    },
    async ({ body }) => {
      const reason = unroutable(facilitator, body)
      if (reason !== undefined)
        return { ...refusedResponse(reason, body.paymentRequirements.network) }
      return { ...(await facilitator.settle(...wireTypes(body))) }
    },
  )
}

/** Builds the server around the given schemes. */
export function createFacilitatorApp({
  schemes,
  ...options
}: FacilitatorAppOptions): Promise<ServiceApp> {
  const facilitator = new x402Facilitator()
  for (const { network, scheme } of schemes) facilitator.register(network as Network, scheme)
  return createServiceApp({
    ...options,
    name: 'tallystick-facilitator',
    version: '0.1.0',
    description:
      'An x402 facilitator: verifies signed payments and settles them on Hedera and EVM chains.',
    cors: {
      methods: ['GET', 'POST', 'OPTIONS'],
      allowedHeaders: ['content-type'],
      exposedHeaders: ['x-request-id', 'retry-after'],
    },
    bodyLimitBytes: BODY_LIMIT_BYTES,
    errors: { answer: unavailable, invalidRequest: malformed },
    routes: (scope) => addRoutes(scope, facilitator),
  })
}
