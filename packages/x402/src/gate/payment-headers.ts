import { z } from 'zod'
import { PAYMENT_HEADER_BYTES_MAX } from './gate-limits.ts'
import type { ChallengeError, PaymentHeaders } from './payment-gate.ts'
import { decodeStrictBase64 } from './strict-base64.ts'

const record = z.record(z.string(), z.unknown())

const envelopeSchema = z.object({
  x402Version: z.literal(2),
  payload: record,
  accepted: z.object({
    scheme: z.string(),
    network: z.string(),
    amount: z.string(),
    asset: z.string(),
    payTo: z.string(),
    maxTimeoutSeconds: z.number(),
    extra: record.nullish(),
  }),
  resource: z.object({ url: z.string() }).nullish(),
  // Nothing here is paid by an extension: one that cannot be read refuses no payment.
  extensions: record.nullish().catch(undefined),
})

/** An x402 v2 payment payload as a client sent it: well formed, nothing in it believed yet. */
export type PaymentEnvelope = z.infer<typeof envelopeSchema>

export type PaymentHeaderReading =
  | { readonly kind: 'absent' }
  | { readonly kind: 'refused'; readonly error: ChallengeError }
  | { readonly kind: 'read'; readonly envelope: PaymentEnvelope }

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads the payment that a request carries in `PAYMENT-SIGNATURE`, or in `X-PAYMENT` (X4). Never throws: every text
 * that is no v2 payload is a refusal, and its size is checked before anything is decoded.
 */
export function readPaymentHeaders(headers: PaymentHeaders): PaymentHeaderReading {
  const { paymentSignature, xPayment } = headers
  if (paymentSignature !== undefined && xPayment !== undefined) {
    return { kind: 'refused', error: 'payment_headers_conflict' }
  }
  const text = paymentSignature ?? xPayment
  if (text === undefined) return { kind: 'absent' }
  if (Buffer.byteLength(text) > PAYMENT_HEADER_BYTES_MAX) {
    return { kind: 'refused', error: 'payment_header_too_large' }
  }
  const undecodable: PaymentHeaderReading = { kind: 'refused', error: 'payment_header_undecodable' }
  const bytes = decodeStrictBase64(text)
  if (bytes === undefined) return undecodable
  let json: unknown
  try {
    json = JSON.parse(utf8.decode(bytes))
  } catch {
    return undecodable
  }
  const parsed = envelopeSchema.safeParse(json)
  if (parsed.success) return { kind: 'read', envelope: parsed.data }
  const version = z.object({ x402Version: z.number() }).safeParse(json)
  return version.success && version.data.x402Version !== 2
    ? { kind: 'refused', error: 'payment_version_unsupported' }
    : undecodable
}
