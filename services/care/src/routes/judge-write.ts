/**
 * Who sent a write and what it says: from headers and raw bytes to a verified write, or to the one reason for the audit
 * trail (C15). Nothing is stored and nothing is answered here.
 */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { TokenVerifier } from '@tallystick/jwt-lite'
import { parseIsoTime, presentedToken } from '@tallystick/service-kit'
import type { VerifiedWrite } from '../domain/publish-record.ts'
import { readWriteFields } from '../domain/write-fields.ts'
import { WRITE_SKEW_SECONDS_MAX } from '../wire/record-uri.ts'
import type { AuditRow } from '../wire/write.ts'

/** Permits writes on the bearer path (care.md, Authentication 4). */
const WRITE_SCOPE = 'care.write'
const TIMESTAMP_SKEW_MS = WRITE_SKEW_SECONDS_MAX * 1_000

/** What the headers of a signed write and its body's bytes come to. */
type SignatureVerdict =
  | {
      readonly kind: 'signed'
      /** Lower-case hex, without prefix: identifies the request until it expires. */
      readonly mac: string
      /** When the timestamp leaves the window, Unix milliseconds. */
      readonly expiresAtMs: number
    }
  | {
      readonly kind: 'refused'
      readonly reason: 'missing_timestamp' | 'stale_timestamp' | 'bad_signature'
    }

/** Judges a request's signature; never throws. */
type VerifySignature = (request: {
  /** The signature header as it came, an optional `sha256=` in front. */
  readonly signature: string
  /** The timestamp header as it came. */
  readonly timestamp: string | undefined
  /** The body's bytes, unparsed. */
  readonly body: Uint8Array
}) => SignatureVerdict

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
    const timestampMs = parseIsoTime(timestamp)
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

/** What a judgement looks at. */
type WriteRequest = {
  readonly signature: string | undefined
  readonly timestamp: string | undefined
  readonly authorization: string | undefined
  /** Its bytes, unless it is too large. */
  readonly body: Uint8Array | 'too-large'
}

/** Why a write was refused. */
export type WriteRefusal = Pick<AuditRow, 'reason' | 'via' | 'actor'>

type WriteJudgement =
  | { readonly kind: 'verified'; readonly write: VerifiedWrite }
  | { readonly kind: 'refused'; readonly refusal: WriteRefusal }

export type JudgeWriteDeps = {
  readonly verifySignature: VerifySignature
  readonly tokens: Pick<TokenVerifier, 'verify'>
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** JSON in well-formed UTF-8; a result object, since `null` is JSON as well. */
function parseJson(bytes: Uint8Array): { readonly value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes))
    return { value }
  } catch {
    return undefined
  }
}

const refused = (refusal: WriteRefusal): WriteJudgement => ({ kind: 'refused', refusal })

function judgeSigned(
  request: { readonly signature: string; readonly timestamp: string | undefined },
  body: Uint8Array,
  deps: JudgeWriteDeps,
): WriteJudgement {
  const via = 'hmac'
  const verdict = deps.verifySignature({ ...request, body })
  if (verdict.kind === 'refused') return refused({ reason: verdict.reason, via, actor: null })
  const json = parseJson(body)
  if (json === undefined) return refused({ reason: 'malformed_body', via, actor: null })
  const fields = readWriteFields(json.value)
  if (fields.kind === 'invalid')
    return refused({ reason: 'invalid_fields', via, actor: fields.authorId })
  const { record } = fields
  const { mac, expiresAtMs } = verdict
  return {
    kind: 'verified',
    write: { record, via, actor: record.authorId, request: { mac, expiresAtMs } },
  }
}

function judgeBearer(token: string, body: Uint8Array, deps: JudgeWriteDeps): WriteJudgement {
  const via = 'bearer'
  const verdict = deps.tokens.verify(token)
  if (verdict.kind === 'invalid') return refused({ reason: 'insufficient_scope', via, actor: null })
  const { sub, scopes } = verdict.claims
  if (!scopes.includes(WRITE_SCOPE))
    return refused({ reason: 'insufficient_scope', via, actor: sub })
  const json = parseJson(body)
  if (json === undefined) return refused({ reason: 'malformed_body', via, actor: sub })
  const fields = readWriteFields(json.value, sub)
  if (fields.kind === 'invalid') return refused({ reason: 'invalid_fields', via, actor: sub })
  return { kind: 'verified', write: { record: fields.record, via, actor: sub } }
}

/** Judges a write: the signed path where the signature header is present, else the bearer path. Never throws. */
export function judgeWrite(request: WriteRequest, deps: JudgeWriteDeps): WriteJudgement {
  const { signature, timestamp, body } = request
  const presented = presentedToken(request.authorization)
  if (body === 'too-large') {
    const unsigned = presented.kind === 'bearer' ? 'bearer' : 'none'
    const via = signature === undefined ? unsigned : 'hmac'
    return refused({ reason: 'body_too_large', via, actor: null })
  }
  if (signature !== undefined) return judgeSigned({ signature, timestamp }, body, deps)
  if (presented.kind === 'bearer') return judgeBearer(presented.token, body, deps)
  return refused({ reason: 'missing_signature', via: 'none', actor: null })
}
