/** The payment headers of x402 v2: reads what a client sent, matches it against what is on sale, and encodes the answer. */
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { PaidResource, PaymentRequirement, Settlement } from '../payment.ts'
import type { ChallengeError } from './challenge.ts'

/**
 * Largest payment header in bytes, checked before decoding. The largest honest one fits: ten Hedera nodes take 4.5 KB,
 * and the extensions that official clients echo less than 2 KB (`CHALLENGE_BYTES_MAX`).
 */
const PAYMENT_HEADER_BYTES_MAX = 8_192

export type PaymentHeaders = {
  /** Value of `PAYMENT-SIGNATURE`. */
  readonly paymentSignature?: string | undefined
  /** Value of `X-PAYMENT`, which may also carry a v2 payload. */
  readonly xPayment?: string | undefined
}

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
  // An unreadable extension does not refuse a payment: none of our payments depends on one.
  extensions: record.nullish().catch(undefined),
})

/** An x402 v2 payment payload as a client sent it: well-formed, but nothing in it verified yet. */
type PaymentEnvelope = z.infer<typeof envelopeSchema>

type PaymentHeaderReading =
  | { readonly kind: 'absent' }
  | { readonly kind: 'refused'; readonly error: ChallengeError }
  | { readonly kind: 'read'; readonly envelope: PaymentEnvelope }

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads a request's payment from `PAYMENT-SIGNATURE` or `X-PAYMENT` (X4). The same payment in both is one payment, read from
 * the first; v2 beside another version is the v2, and an empty header says nothing beside one that is not (X22). Never throws:
 * any other text is a refusal that names its cause, and the size is checked before anything is decoded.
 */
export function readPaymentHeaders(headers: PaymentHeaders): PaymentHeaderReading {
  const sent = [headers.paymentSignature, headers.xPayment].filter((text) => text !== undefined)
  const full = sent.filter((text) => text !== '')
  const [first, second] = (full.length > 0 ? full : sent).map(readHeader)
  if (first === undefined) return { kind: 'absent' }
  if (second === undefined || isOtherVersion(second)) return first
  if (first.kind !== 'read') return isOtherVersion(first) ? second : first
  if (second.kind !== 'read') return second
  // What is signed makes them the same; a client may describe it twice in different words.
  return isDeepStrictEqual(first.envelope.payload, second.envelope.payload)
    ? first
    : refusal('payment_headers_conflict')
}

const OTHER_VERSION = 'payment_version_unsupported'

const refusal = (error: ChallengeError) => ({ kind: 'refused', error }) as const

const isOtherVersion = (reading: PaymentHeaderReading): boolean =>
  reading.kind === 'refused' && reading.error === OTHER_VERSION

function readHeader(text: string): Exclude<PaymentHeaderReading, { kind: 'absent' }> {
  if (Buffer.byteLength(text) > PAYMENT_HEADER_BYTES_MAX) return refusal('payment_header_too_large')
  const json = jsonOfBase64(text)
  if (json === undefined) return refusal('payment_header_undecodable')
  const parsed = envelopeSchema.safeParse(json)
  if (parsed.success) return { kind: 'read', envelope: parsed.data }
  const [issue] = parsed.error.issues
  const path = issue?.path ?? []
  return refusal(path.length === 0 || path[0] === 'x402Version' ? OTHER_VERSION : fault(json, path))
}

/** Names the field at fault, such as `payment_accepted_amount_invalid`. Its path is one of the schema's own. */
function fault(json: unknown, path: readonly PropertyKey[]): ChallengeError {
  const value = path.reduce<unknown>((at, key) => Object(at)[key], json)
  const name = path.join('_').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return `payment_${name}_${value === undefined ? 'missing' : 'invalid'}`
}

/**
 * The bytes of standard, padded base64 (RFC 4648 §4), undefined for anything else. Base64url, missing padding, white
 * space and non-zero trailing bits are refused, so that each value has one spelling.
 */
export function decodeStrictBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

/** The value of a header: JSON as UTF-8 in strict base64. Undefined, which is no JSON, for anything else. */
export function jsonOfBase64(text: string): unknown {
  const bytes = decodeStrictBase64(text)
  try {
    return bytes && JSON.parse(utf8.decode(bytes))
  } catch {
    return undefined
  }
}

const CORE_FIELDS = ['scheme', 'network', 'amount', 'asset', 'payTo', 'maxTimeoutSeconds'] as const

/**
 * Whether what a payer accepted is this requirement (X3). The six core fields must be equal and our `extra` keys returned
 * unchanged. Every other key is ignored, so clients can pay whether they strip or echo `price`.
 */
export function acceptsRequirement(
  accepted: PaymentEnvelope['accepted'],
  requirement: PaymentRequirement,
): boolean {
  return (
    CORE_FIELDS.every((field) => accepted[field] === requirement[field]) &&
    Object.entries(requirement.extra).every(
      ([key, value]) =>
        Object.hasOwn(accepted.extra ?? {}, key) && isDeepStrictEqual(accepted.extra?.[key], value),
    )
  )
}

/** Whether a client's payload names the resource on sale, by path, or names none. */
export function isForResource(named: PaymentEnvelope['resource'], resource: PaidResource): boolean {
  if (named === undefined || named === null || named.url === resource.url) return true
  const path = URL.parse(named.url)?.pathname
  return path !== undefined && path === URL.parse(resource.url)?.pathname
}

/**
 * Whether a payer sent the description of the call back, the extension `bazaar`. Only then does the facilitator get it, in the seller's words: in x402 the
 * payer decides whether a catalogue learns of the call.
 */
export function echoesDiscovery(
  extensions: Readonly<Record<string, unknown>> | null | undefined,
): boolean {
  return Object.hasOwn(extensions ?? {}, 'bazaar')
}

/** The value of `PAYMENT-RESPONSE`: base64 of the settlement's UTF-8 JSON. */
export function encodePaymentResponse(settlement: Settlement): string {
  return Buffer.from(JSON.stringify(settlement), 'utf8').toString('base64')
}
