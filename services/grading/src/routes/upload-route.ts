/** `POST /api/ingest`: what an upload token must be (G8), and the way of an upload into the ledger. */
import type { TokenFailure, TokenVerdict } from '@tallystick/jwt-lite'
import {
  type Clock,
  type ErrorAnswer,
  presentedToken,
  type ServiceApp,
  sendError,
} from '@tallystick/service-kit'
import type { GradingStore } from '../domain/closes/grading-store.ts'
import { errorAnswer, invalidRequest } from '../errors.ts'
import { parseJson } from '../ingest/accept-price.ts'
import { ingestPayload, type PayloadAccount } from '../ingest/ingest-payload.ts'
import { normaliseManualUpload } from '../ingest/manual-upload.ts'
import { type UploadAnswer, uploadAnswerSchema, uploadSchema } from '../wire/upload.ts'
import { describedError, freeErrorRows } from './error-rows.ts'
import { requestIssues, takeBytes } from './read-body.ts'

/** The service's name in its tokens' `typ` (G8). */
export const GRADING_TOKEN_TYPE = 'grading+jwt'
/** The scope that an upload requires (G8). */
export const GRADING_WRITE_SCOPE = 'grading.write'

/** The header's `typ` of a token with a valid signature, so the header is known to be a JSON object. */
function tokenType(token: string): unknown {
  const text = Buffer.from(token.slice(0, token.indexOf('.')), 'base64url').toString('utf8')
  return (JSON.parse(text) as { readonly typ?: unknown }).typ
}

/** 1,000 events of 8 KiB: a few books of a few markets each. Larger data needs several uploads, or the command. */
const UPLOAD_BODY_BYTES_MAX = 8_388_608

/** What an upload's schema cannot say. */
const UPLOAD_DESCRIPTION =
  'A malformed upload is 400 and nothing of it is taken: an unknown member, an invalid period or time, a source named football-data, the-odds-api or synthetic (the service’s own feeds), or an id that begins with synthetic in an upload that is not synthetic, or the reverse. In a well-formed upload each price and result is judged by itself: what cannot be used (an unknown market or selection, a price taken after the start, more than 15 minutes before it as a final close, or more than a minute after it was received) is listed in refusals with its reason, and the rest is taken. The same bytes again change nothing.'

export type UploadRouteDeps = {
  readonly store: GradingStore
  /** Verifies a token for this service; undefined if no secret is configured, so that no token is valid. */
  readonly verifyToken: ((token: string) => TokenVerdict) | undefined
  readonly clock: Clock
  readonly reportUpload: (outcome: 'taken' | 'repeated' | 'refused') => void
}

/** The account in the wire's words; its schema drops the rest. */
const accountOnWire = (account: PayloadAccount): UploadAnswer => ({
  ...account,
  repeated: account.isRepeated,
  raw_sha256: account.rawSha256,
  missing_prices: account.missingPrices,
  refusals: [...account.refusals],
})

function invalidToken(failure: TokenFailure | 'wrong_type' | 'not configured' | undefined) {
  const challenge = 'Bearer realm="grading"'
  return errorAnswer('invalid_token', {
    details: { error_description: failure ?? 'bearer token required' },
    headers: {
      'www-authenticate':
        failure === undefined
          ? challenge
          : `${challenge}, error="invalid_token", scope="${GRADING_WRITE_SCOPE}"`,
    },
  })
}

/**
 * Why a request may not upload. Its token is judged like any of ours, then by its `typ`, which jwt-lite leaves to the
 * service: a token minted for another service under the same secret is refused.
 */
function uploadRefusal(
  authorization: string | undefined,
  verify: UploadRouteDeps['verifyToken'],
): ErrorAnswer | undefined {
  const presented = presentedToken(authorization)
  if (presented.kind !== 'bearer') return invalidToken(undefined)
  if (verify === undefined) return invalidToken('not configured')
  const verdict = verify(presented.token)
  if (verdict.kind === 'invalid') return invalidToken(verdict.failure)
  if (tokenType(presented.token) !== GRADING_TOKEN_TYPE) return invalidToken('wrong_type')
  const mayWrite = verdict.claims.scopes.includes(GRADING_WRITE_SCOPE)
  return mayWrite ? undefined : errorAnswer('insufficient_scope')
}

/** Serves `POST /api/ingest`: closes, prices and results from an operator. Idempotent on the bytes. */
export async function addUploadRoute(app: ServiceApp, deps: UploadRouteDeps): Promise<void> {
  await app.register(async (scope) => {
    // Their hash decides whether an upload is a repetition.
    takeBytes(scope)
    scope.post(
      '/api/ingest',
      {
        // Before any byte of the body is read.
        onRequest: async (request, reply) => {
          const refusal = uploadRefusal(request.headers.authorization, deps.verifyToken)
          return refusal && sendError(reply, refusal)
        },
        bodyLimit: UPLOAD_BODY_BYTES_MAX,
        schema: {
          tags: ['operator'],
          security: [{ operator: [] }],
          summary: 'Closes, prices and results by hand, under a token with grading.write.',
          description: UPLOAD_DESCRIPTION,
          body: uploadSchema,
          response: {
            200: uploadAnswerSchema,
            401: describedError('No valid bearer token.'),
            403: describedError('The token lacks grading.write.'),
            ...freeErrorRows,
          },
        },
        validatorCompiler: () => () => true,
      },
      async (request, reply) => {
        const body: unknown = request.body
        const raw = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
        const json = parseJson(raw)
        if (json === undefined) return sendError(reply, errorAnswer('malformed_json'))
        const upload = uploadSchema.safeParse(json)
        if (!upload.success) {
          deps.reportUpload('refused')
          return sendError(reply, invalidRequest(requestIssues(upload.error.issues, 'body')))
        }
        const receivedAtSeconds = Math.floor(deps.clock.unixMs() / 1_000)
        const account = await ingestPayload({
          store: deps.store,
          raw,
          receivedAtSeconds,
          read: () => [normaliseManualUpload(upload.data, receivedAtSeconds)],
        })
        deps.reportUpload(account.isRepeated ? 'repeated' : 'taken')
        return reply.send(accountOnWire(account))
      },
    )
  })
}
