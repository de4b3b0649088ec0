/** `POST /write`: reads the bytes, has them judged, and publishes or refuses. */

import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { TokenVerdict } from '@tallystick/jwt-lite'
import {
  type Clock,
  type ErrorAnswer,
  errorBody,
  isoNow,
  parseIsoTime,
  presentedToken,
  readRequestBody,
  type ServiceApp,
  sendError,
} from '@tallystick/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { OwnLabel } from '../domain/author-labels.ts'
import type {
  AuditTrail,
  PublishRecord,
  VerifiedWrite,
  WriteConflict,
} from '../domain/publish-record.ts'
import { isWriter, mayPublish, readReach } from '../domain/scopes.ts'
import { readWriteFields } from '../domain/write-fields.ts'
import { careErrors, errorAnswer } from '../errors.ts'
import { writeExample } from '../wire/examples.ts'
import { type AuditRow, writeAnswer, writeBody } from '../wire/write.ts'
import {
  WRITE_BODY_BYTES_MAX,
  WRITE_KNOWN_MS,
  WRITE_SKEW_SECONDS_MAX,
} from '../wire/write-limits.ts'
import { BEARER, type TokenCheck } from './bearer.ts'

const refuseSignature = (reason: AuditRow['reason']) => ({ kind: 'refused' as const, reason })

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
    if (timestamp === undefined || timestamp === '') return refuseSignature('missing_timestamp')
    const sentMs = parseIsoTime(timestamp)
    if (sentMs === undefined || Math.abs(sentMs - options.clock.unixMs()) > WRITE_KNOWN_MS)
      return refuseSignature('stale_timestamp')
    const presented = Buffer.from(signature.replace(/^sha256=/, ''), 'utf8')
    let mac: string | undefined
    for (const key of options.keys) {
      const expected = createHmac('sha256', key).update(`${timestamp}.`).update(body).digest('hex')
      const isSame =
        presented.length === expected.length &&
        timingSafeEqual(presented, Buffer.from(expected, 'utf8'))
      if (isSame) mac = expected
    }
    if (mac === undefined) return refuseSignature('bad_signature')
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

type WriteRefusal = Pick<AuditRow, 'reason' | 'via' | 'actor'>

type WriteJudgement =
  | { readonly kind: 'verified'; readonly write: VerifiedWrite }
  | { readonly kind: 'refused'; readonly refusal: WriteRefusal }

type JudgeWriteDeps = {
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
    ? { ...judged, write: { ...judged.write, mayKnow: readReach(scopes) } }
    : refused({ reason, via, actor: sub })
}

/**
 * Judges a write: by its signature if the header is present, otherwise by its bearer token. Rejects with `IssuerUnavailable`
 * alone (C23): that is no refusal, and the write may be sent again.
 */
async function judgeWrite(request: WriteRequest, deps: JudgeWriteDeps): Promise<WriteJudgement> {
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

type WriteRouteDeps = JudgeWriteDeps & {
  readonly serviceName: string
  readonly publish: PublishRecord
  readonly audit: Pick<AuditTrail, 'add'>
  readonly clock: Pick<Clock, 'unixMs'>
}

/** The 409 that says why the store refuses. */
function conflictAnswer(conflict: WriteConflict): ErrorAnswer {
  switch (conflict.kind) {
    case 'audience-conflict':
    case 'spelled-otherwise':
      return errorAnswer('conflict')
    case 'version-conflict':
      return errorAnswer('version_conflict', { details: { version: conflict.latestVersion } })
    case 'nothing-to-withdraw':
      return errorAnswer('nothing_to_withdraw', {
        details: { message: careErrors.nothing_to_withdraw.meaning },
      })
    case 'erased':
      return errorAnswer('erased')
    default:
      return conflict satisfies never
  }
}

/** A header that was sent once; a repeated header becomes a value that equals nothing. */
const headerText = (value: string | readonly string[] | undefined): string | undefined =>
  value === undefined || typeof value === 'string' ? value : value.join()

/**
 * Serves `POST /write`. It answers in the `onRequest` hook, before the framework looks at the body: the MAC is over the
 * raw bytes, and a content type or encoding that the framework dislikes must not be refused differently.
 */
export function addWriteRoute(app: ServiceApp, deps: WriteRouteDeps): void {
  const signatureHeader = `x-${deps.serviceName}-signature`
  const timestampHeader = `x-${deps.serviceName}-timestamp`

  const refuse = async (
    { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
    refusal: WriteRefusal,
  ): Promise<FastifyReply> => {
    try {
      const at = isoNow(deps.clock)
      await deps.audit.add({ at, outcome: 'rejected', ...refusal })
    } catch (error) {
      // The answer stays the same; the operator hears about the trail.
      request.log.error({ err: error, reason: refusal.reason }, 'audit row was not stored')
    }
    return sendError(reply, errorAnswer('unauthorized'))
  }
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const body = await readRequestBody(request.raw, WRITE_BODY_BYTES_MAX)
    const { headers } = request
    const signature = headerText(headers[signatureHeader])
    const timestamp = headerText(headers[timestampHeader])
    const { authorization } = headers
    const judgement = await judgeWrite({ signature, timestamp, authorization, body }, deps)
    if (judgement.kind === 'refused') return refuse({ request, reply }, judgement.refusal)
    const outcome = await deps.publish(judgement.write)
    if (outcome.kind === 'conflict') return sendError(reply, conflictAnswer(outcome.conflict))
    return reply
      .code(200)
      .header('cache-control', 'no-store')
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(outcome.answer))
  }
  app.route({
    method: 'POST',
    url: '/write',
    // `care_writes_total` counts writes of what is public already.
    config: { takesOverBody: true, isUncounted: true },
    schema: {
      tags: ['write'],
      summary: 'Publishes a version of a record.',
      description: `Signed: \`${signatureHeader}\` is the lower-case hex HMAC-SHA256 over the bytes \`<timestamp>.<raw body>\` under the write secret, \`${timestampHeader}\` the ISO 8601 timestamp, at most ${WRITE_SKEW_SECONDS_MAX} s from the server's clock. Without a signature: a bearer token with \`care.write\`. Every refusal is the same 401.`,
      security: [{ signature: [] }, ...BEARER],
      headers: z.looseObject({
        [timestampHeader]: z.string().optional().describe('When it was signed, ISO 8601.'),
      }),
      body: writeBody.meta({ id: 'Write', examples: [writeExample] }),
      response: { 200: writeAnswer, 401: errorBody, 409: errorBody, 503: errorBody },
    },
    onRequest: answer,
    // Never reached: onRequest has already answered.
    handler: async () => undefined,
  })
}
