/**
 * Request headers that CORS must allow for paying clients (S9). `Access-Control-Expose-Headers` is a response header,
 * but the official client sends it.
 */
export const PAYMENT_REQUEST_HEADERS: readonly string[] = [
  'PAYMENT-SIGNATURE',
  'X-PAYMENT',
  'Access-Control-Expose-Headers',
  'content-type',
  'idempotency-key',
]

/** Response headers that CORS must expose, or a browser cannot read the challenge (S9). */
export const PAYMENT_EXPOSED_HEADERS: readonly string[] = [
  'PAYMENT-REQUIRED',
  'PAYMENT-RESPONSE',
  'x-request-id',
  'retry-after',
]
