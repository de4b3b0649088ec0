import cors from '@fastify/cors'
import type { ServiceApp } from './service-app.ts'

/**
 * CORS for the paid services (S9): what is allowed in any case, besides what a page asks for.
 * `Access-Control-Expose-Headers` is among it because the official client sends it as a request header.
 */
export const paidServiceCors = {
  methods: ['GET', 'POST', 'OPTIONS'],
  allowedHeaders: [
    'PAYMENT-SIGNATURE',
    'X-PAYMENT',
    'Access-Control-Expose-Headers',
    'content-type',
    'idempotency-key',
  ],
  exposedHeaders: ['PAYMENT-REQUIRED', 'PAYMENT-RESPONSE', 'x-request-id', 'retry-after'],
  maxAgeSeconds: 600,
}

/** What browsers from other origins may send and read. */
export type CorsPolicy = Readonly<typeof paidServiceCors>

/** What browsers send: far more than pages do, and little enough that the answer's head stays small (S10). */
const REQUESTED_CHARS_MAX = 1_000
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/

/** The policy's headers and those that the page asks for: tracing and caching add headers that no list foresees. */
function allowedHeaders(policy: CorsPolicy, requested: unknown): string[] {
  if (typeof requested !== 'string' || requested.length > REQUESTED_CHARS_MAX)
    return policy.allowedHeaders
  const names = requested.split(',').map((name) => name.trim())
  const known = new Set(policy.allowedHeaders.map((name) => name.toLowerCase()))
  const others = names.filter((name) => HEADER_NAME.test(name) && !known.has(name.toLowerCase()))
  return [...policy.allowedHeaders, ...others]
}

/** Answers every `OPTIONS` with 204 before any route's own hooks run. */
export async function registerCors(app: ServiceApp, policy: CorsPolicy): Promise<void> {
  const common = {
    // No cookie is used, so that every page is alike, and no answer depends on who asks.
    origin: '*',
    methods: policy.methods,
    exposedHeaders: policy.exposedHeaders,
    maxAge: policy.maxAgeSeconds,
    strictPreflight: false,
  }
  await app.register(cors, {
    delegator: (request, callback) => {
      const requested = request.headers['access-control-request-headers']
      callback(null, { ...common, allowedHeaders: allowedHeaders(policy, requested) })
    },
  })
}
