/** `POST /write`: reads the bytes, has them judged, and publishes or refuses. */
import {
  type Clock,
  type ErrorAnswer,
  errorBody,
  readRequestBody,
  type ServiceApp,
  sendError,
} from '@tallystick/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuditTrail, PublishRecord, WriteConflict } from '../domain/publish-record.ts'
import { careErrors, errorAnswer } from '../errors.ts'
import { writeExample } from '../wire/examples.ts'
import { writeAnswer, writeBody } from '../wire/write.ts'
import { WRITE_BODY_BYTES_MAX, WRITE_SKEW_SECONDS_MAX } from '../wire/write-limits.ts'
import { type JudgeWriteDeps, judgeWrite, type WriteRefusal } from './judge-write.ts'

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
      const at = new Date(deps.clock.unixMs()).toISOString()
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
      body: writeBody.meta({ id: 'Write', examples: [writeExample] }),
      response: { 200: writeAnswer, 401: errorBody, 409: errorBody, 503: errorBody },
    },
    onRequest: answer,
    // Never reached: onRequest has already answered.
    handler: async () => undefined,
  })
}
