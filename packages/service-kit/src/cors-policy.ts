import cors from '@fastify/cors'
import type { ServiceApp } from './service-app.ts'

/**
 * CORS for the paid services (S9). `Access-Control-Expose-Headers` is allowed because the official client sends it as a
 * request header.
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

/** Answers every `OPTIONS` with 204 before any route's own hooks run, and echoes the origin (`*` without one). */
export async function registerCors(app: ServiceApp, policy: CorsPolicy): Promise<void> {
  await app.register(cors, {
    // A function rather than `true`, so that a request without an origin gets `*` (S9, care's document).
    origin: async (origin: string | undefined) => origin || '*',
    methods: policy.methods,
    allowedHeaders: policy.allowedHeaders,
    exposedHeaders: policy.exposedHeaders,
    maxAge: policy.maxAgeSeconds,
    strictPreflight: false,
  })
}
