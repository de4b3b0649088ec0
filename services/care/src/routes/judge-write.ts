/**
 * Who sent a write and what it says: from headers and raw bytes to a verified write, or to the one reason for the audit
 * trail (C15). Nothing is stored and nothing is answered here.
 */
import type { TokenVerdict } from '@tallystick/jwt-lite'
import { presentedToken } from '@tallystick/service-kit'
import type { VerifiedWrite } from '../domain/publish-record.ts'
import { readWriteFields } from '../domain/write-fields.ts'
import type { AuditRow, RefusalReason } from '../wire/write.ts'
import type { RequestBody } from './request-body.ts'
import type { VerifySignature } from './write-signature.ts'

/** Permits writes on the bearer path (care.md, Authentication 4). */
const WRITE_SCOPE = 'care.write'

/** What is looked at of a request. */
export type WriteRequest = {
  readonly signature: string | undefined
  readonly timestamp: string | undefined
  readonly authorization: string | undefined
  readonly body: RequestBody
}

/** Why a write was refused, without the time. */
export type WriteRefusal = {
  readonly reason: RefusalReason
  readonly via: AuditRow['via']
  /** Null until the writer is verified. */
  readonly actor: string | null
}

export type WriteJudgement =
  | { readonly kind: 'verified'; readonly write: VerifiedWrite }
  | { readonly kind: 'refused'; readonly refusal: WriteRefusal }

export type JudgeWriteDeps = {
  readonly verifySignature: VerifySignature
  readonly verifyToken: (token: string) => TokenVerdict
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
  const verdict = deps.verifyToken(token)
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
  if (body.kind === 'too-large') {
    const unsigned = presented.kind === 'bearer' ? 'bearer' : 'none'
    const via = signature === undefined ? unsigned : 'hmac'
    return refused({ reason: 'body_too_large', via, actor: null })
  }
  if (signature !== undefined) return judgeSigned({ signature, timestamp }, body.bytes, deps)
  if (presented.kind === 'bearer') return judgeBearer(presented.token, body.bytes, deps)
  return refused({ reason: 'missing_signature', via: 'none', actor: null })
}
