import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { isoTimeMs } from '../domain/iso-time.ts'
import { WRITE_SKEW_SECONDS_MAX } from '../wire/record-uri.ts'

const TIMESTAMP_SKEW_MS = WRITE_SKEW_SECONDS_MAX * 1_000

/** What the headers of a signed write and its body's bytes come to. */
export type SignatureVerdict =
  | {
      readonly kind: 'signed'
      /** Lower-case hex, without prefix: identifies the request until it expires. */
      readonly mac: string
      /** When the timestamp leaves the window, unix milliseconds. */
      readonly expiresAtMs: number
    }
  | {
      readonly kind: 'refused'
      readonly reason: 'missing_timestamp' | 'stale_timestamp' | 'bad_signature'
    }

export type SignedRequest = {
  /** The signature header as it came, an optional `sha256=` in front. */
  readonly signature: string
  /** The timestamp header as it came. */
  readonly timestamp: string | undefined
  /** The body's bytes, unparsed. */
  readonly body: Uint8Array
}

/** Judges a request's signature; never throws. */
export type VerifySignature = (request: SignedRequest) => SignatureVerdict

/**
 * A check of HMAC-SHA256 over the bytes `<timestamp>.<raw body>` in lower-case hex under the write secret, in the order
 * of C15. The time that it takes does not tell how nearly a signature is right.
 */
export function createSignatureCheck(options: {
  readonly secret: Uint8Array
  readonly clock: { unixMs(): number }
}): VerifySignature {
  const key = createSecretKey(options.secret)
  return ({ signature, timestamp, body }) => {
    if (timestamp === undefined || timestamp === '')
      return { kind: 'refused', reason: 'missing_timestamp' }
    const timestampMs = isoTimeMs(timestamp)
    if (
      timestampMs === undefined ||
      Math.abs(timestampMs - options.clock.unixMs()) > TIMESTAMP_SKEW_MS
    )
      return { kind: 'refused', reason: 'stale_timestamp' }
    const mac = createHmac('sha256', key).update(`${timestamp}.`).update(body).digest('hex')
    const presented = Buffer.from(signature.replace(/^sha256=/, ''), 'utf8')
    const expected = Buffer.from(mac, 'utf8')
    if (presented.length !== expected.length || !timingSafeEqual(presented, expected))
      return { kind: 'refused', reason: 'bad_signature' }
    return { kind: 'signed', mac, expiresAtMs: timestampMs + TIMESTAMP_SKEW_MS }
  }
}
