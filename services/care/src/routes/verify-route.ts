/** `GET /verify`: anyone replays every chain that they may know of (care.md, C18). */
import { errorBody, type ServiceApp, sendError } from '@tallystick/service-kit'
import type { FastifyReply } from 'fastify'
import {
  type ChainVerifier,
  chainPayload,
  type ReportPlace,
  type VerifyRun,
  verifyPayload,
  verifyText,
} from '../domain/verification.ts'
import { errorAnswer } from '../errors.ts'
import { parseRecordUri, type RecordUri } from '../wire/record-uri.ts'
import { uriQuery, verifyAnswer } from '../wire/verify.ts'
import type { BearerCheckDeps } from './check-bearer.ts'
import { type Reader, readerOf } from './reader.ts'

export type VerifyRouteDeps = BearerCheckDeps & {
  readonly verifier: Pick<ChainVerifier, 'verify'>
  /** The MCP endpoint's URL. */
  readonly resource: string
  /** The at-rest status line. */
  readonly atRestLine: () => string
}

/** JSON where `Accept` is application/json, any type or absent, unless it holds text/html (care.md). */
export function isJsonAccepted(accept: string | undefined): boolean {
  const types = (accept ?? '').toLowerCase()
  if (types.includes('text/html')) return false
  return types.trim() === '' || types.includes('application/json') || types.includes('*/*')
}

const sendText = (reply: FastifyReply, text: string): FastifyReply =>
  reply.type('text/plain; charset=utf-8').send(text)

/** Sends text that was serialised here: a schema would walk every chain of a large answer once more. */
const sendJson = (reply: FastifyReply, json: string): FastifyReply =>
  reply.type('application/json; charset=utf-8').send(json)

/** The replay of what a reader may see; `found` is undefined where the URI names no chain that they may know of. */
async function replayFor(
  reader: Reader,
  target: RecordUri | undefined,
  verifier: Pick<ChainVerifier, 'verify'>,
): Promise<VerifyRun | undefined> {
  const audiences = reader.visible
  // A hidden chain goes the way of an unknown one: the store is asked the same, and finds nothing.
  return target === undefined
    ? verifier.verify({ audiences })
    : verifier.verify({ audiences, slot: target.slot })
}

export function addVerifyRoute(app: ServiceApp, deps: VerifyRouteDeps): void {
  const schema = {
    tags: ['verify'],
    summary: 'Replays every chain from its stored bytes.',
    description:
      'Public. Without a token it shows `care://` chains, with the assistant scope internal ones as well. JSON, or plain text where `Accept` asks for another type. It holds no value, version hash, author or time of a record.',
    querystring: uriQuery,
    response: { 200: verifyAnswer, 401: errorBody, 404: errorBody, 503: errorBody },
  }
  const serialised = new WeakMap<VerifyRun, string>()
  /** Requests that share a run share its text. */
  const payloadOf = (run: VerifyRun, place: ReportPlace): string => {
    const json = serialised.get(run) ?? JSON.stringify(verifyPayload(run, place))
    serialised.set(run, json)
    return json
  }
  app.get('/verify', { schema }, async (request, reply) => {
    const reader = readerOf({ request, reply }, deps)
    if (reader === undefined) return reply
    void reply.header('cache-control', 'no-store')
    const place: ReportPlace = { resource: deps.resource, atRest: deps.atRestLine() }
    const isJson = isJsonAccepted(request.headers.accept)
    const { uri } = request.query
    const notFound = () => sendError(reply, errorAnswer('not_found', { uri: [uri].flat()[0] }))
    const target = typeof uri === 'string' ? parseRecordUri(uri) : undefined
    if (uri !== undefined && target === undefined) return notFound()
    const run = await replayFor(reader, target, deps.verifier)
    if (run === undefined) return sendError(reply, errorAnswer('busy'))
    if (target === undefined)
      return isJson
        ? sendJson(reply, payloadOf(run, place))
        : sendText(reply, verifyText(run, place))
    const [chain] = run.chains
    if (chain === undefined || (target.version ?? 1) > chain.versions) return notFound()
    return isJson
      ? sendJson(reply, JSON.stringify(chainPayload(chain)))
      : sendText(reply, verifyText(run, place))
  })
}
