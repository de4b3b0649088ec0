/**
 * Who sent a write and what it says: from headers and raw bytes to a verified write, or to the one reason for the audit
 * trail (C15). Nothing is stored or answered here.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { TokenVerdict } from '@tallystick/jwt-lite'
import { parseIsoTime, presentedToken } from '@tallystick/service-kit'
import type { OwnLabel } from '../domain/author-labels.ts'
import type { VerifiedWrite } from '../domain/publish-record.ts'
import { isWriter, mayPublish } from '../domain/scopes.ts'
import { readWriteFields } from '../domain/write-fields.ts'
import type { AuditRow } from '../wire/write.ts'
import { WRITE_KNOWN_MS } from '../wire/write-limits.ts'
import type { TokenCheck } from './bearer.ts'

const refuse = (reason: AuditRow['reason']) => ({ kind: 'refused' as const, reason })

/**
 * Returns a check of HMAC-SHA256 over the bytes `<timestamp>.<raw body>` in lower-case hex under the write secret, in the
 * order of C15. It never throws, and its timing reveals neither how close a signature is nor which secret made it: to rotate,
 * the new secret is added, writers change over, and the old one is dropped.
 */
export function createSignatureCheck(options: {
  readonly keys: readonly KeyObject[]
  readonly clock: { unixMs(): number }
}) {
  return (request: {
    /** The header as received, with or without a leading `sha256=`. */
    readonly signature: string
    /** The header as received. */
    readonly timestamp: string | undefined
    /** Unparsed. */
    readonly body: Uint8Array
  }) => {
    const { signature, timestamp, body } = request
    if (timestamp === undefined || timestamp === '') return refuse('missing_timestamp')
    const sentMs = parseIsoTime(timestamp)
    if (sentMs === undefined || Math.abs(sentMs - options.clock.unixMs()) > WRITE_KNOWN_MS)
      return refuse('stale_timestamp')
    const presented = Buffer.from(signature.replace(/^sha256=/, ''), 'utf8')
    let mac: string | undefined
    for (const key of options.keys) {
      const expected = createHmac('sha256', key).update(`${timestamp}.`).update(body).digest('hex')
      const isSame =
        presented.length === expected.length &&
        timingSafeEqual(presented, Buffer.from(expected, 'utf8'))
      if (isSame) mac = expected
    }
    if (mac === undefined) return refuse('bad_signature')
    // The MAC identifies the request until its timestamp leaves the window.
    return { kind: 'signed' as const, mac, expiresAtMs: sentMs + WRITE_KNOWN_MS }
  }
}

type WriteRequest = {
  readonly signature: string | undefined
  readonly timestamp: string | undefined
  readonly authorization: string | undefined
  /** Its bytes, unless there are too many. */
  readonly body: Uint8Array | 'too-large'
}

export type WriteRefusal = Pick<AuditRow, 'reason' | 'via' | 'actor'>

type WriteJudgement =
  | { readonly kind: 'verified'; readonly write: VerifiedWrite }
  | { readonly kind: 'refused'; readonly refusal: WriteRefusal }

export type JudgeWriteDeps = {
  readonly verifySignature: ReturnType<typeof createSignatureCheck>
  readonly tokens: TokenCheck
  /** If a bearer writer must be the author (C33): whose name is shown (C46). */
  readonly ownLabel: OwnLabel | undefined
  /** Of writes that name none (C37). */
  readonly language?: string | undefined
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** JSON in well-formed UTF-8; a result object, since `null` is also JSON. */
function parseJson(bytes: Uint8Array): { readonly value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes))
    return { value }
  } catch {
    return undefined
  }
}

const refused = (refusal: WriteRefusal): WriteJudgement => ({ kind: 'refused', refusal })

/** What the body of a known sender says; on the bearer path `bearer` is the token's. */
function judgeBody(
  body: Uint8Array,
  sender: Pick<VerifiedWrite, 'via' | 'request'> & {
    readonly bearer?: Parameters<typeof readWriteFields>[1]
  },
  language: string | undefined,
): WriteJudgement {
  const { via, request, bearer } = sender
  const sub = bearer?.sub
  const json = parseJson(body)
  if (json === undefined) return refused({ reason: 'malformed_body', via, actor: sub ?? null })
  const fields = readWriteFields(json.value, bearer, language)
  if (fields.kind === 'invalid')
    return refused({ reason: 'invalid_fields', via, actor: sub ?? fields.authorId })
  const { record, expectedVersion } = fields
  const actor = sub ?? record.authorId
  return { kind: 'verified', write: { record, via, actor, request, expectedVersion } }
}

function judgeSigned(
  request: { readonly signature: string; readonly timestamp: string | undefined },
  body: Uint8Array,
  deps: JudgeWriteDeps,
): WriteJudgement {
  const via = 'hmac'
  const verdict = deps.verifySignature({ ...request, body })
  if (verdict.kind === 'refused') return refused({ reason: verdict.reason, via, actor: null })
  const { mac, expiresAtMs } = verdict
  return judgeBody(body, { via, request: { mac, expiresAtMs } }, deps.language)
}

function judgeBearer(
  verdict: TokenVerdict,
  body: Uint8Array,
  deps: JudgeWriteDeps,
): WriteJudgement {
  const via = 'bearer'
  const reason = 'insufficient_scope'
  if (verdict.kind === 'invalid') return refused({ reason, via, actor: null })
  const { name, scopes, sub } = verdict.claims
  const { ownLabel } = deps
  if (!isWriter(scopes)) return refused({ reason, via, actor: sub })
  const bearer = {
    sub,
    ownLabel: ownLabel && ((claimed?: string) => ownLabel({ sub, name, claimed })),
  }
  const judged = judgeBody(body, { via, bearer }, deps.language)
  if (judged.kind === 'refused') return judged
  const { expectedVersion, record } = judged.write
  const tellsOfChain = expectedVersion !== undefined || record.status !== undefined
  return mayPublish(scopes, { slot: record, tellsOfChain })
    ? judged
    : refused({ reason, via, actor: sub })
}

/**
 * Judges a write: by its signature if the header is present, otherwise by its bearer token. Rejects with `IssuerUnavailable`
 * alone (C23): that is no refusal, and the write may be sent again.
 */
export async function judgeWrite(
  request: WriteRequest,
  deps: JudgeWriteDeps,
): Promise<WriteJudgement> {
  const { signature, timestamp, body } = request
  const tooLarge = { reason: 'body_too_large', actor: null } as const
  if (signature !== undefined)
    return body === 'too-large'
      ? refused({ ...tooLarge, via: 'hmac' })
      : judgeSigned({ signature, timestamp }, body, deps)
  const presented = presentedToken(request.authorization)
  const via = presented.kind === 'bearer' ? 'bearer' : 'none'
  if (body === 'too-large') return refused({ ...tooLarge, via })
  return presented.kind === 'bearer'
    ? judgeBearer(await deps.tokens.verify(presented.token), body, deps)
    : refused({ reason: 'missing_signature', via, actor: null })
}
