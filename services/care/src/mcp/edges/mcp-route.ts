/**
 * `/mcp`, the HTTP part of the Streamable HTTP transport (MCP 2025-11-25). The checks come in the order of C2: host,
 * token, method, size, JSON, session header, session, owner; then protocol version and message. Sessions and methods have
 * their own files.
 */
import type { ServiceApp } from '@tallystick/service-kit'
import {
  LEGACY_REVISIONS,
  MODERN_REVISION,
  type PostedMessage,
  parseMessage,
  RPC_CODES,
} from '@tallystick/service-kit/mcp'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { isBefore, isWithinSizes, type Position } from '../../domain/position.ts'
import { initializeRequest, mcpMessage } from '../../wire/mcp.ts'
import type { EventIds } from '../sessions/event-ids.ts'
import { type StreamKeeper, TAKEN_OVER } from '../sessions/event-streams.ts'
import type { JournalFollower } from '../sessions/journal-follower.ts'
import type { McpLimits } from '../sessions/limits.ts'
import type { McpSession } from '../sessions/mcp-session.ts'
import type { SessionRegistry } from '../sessions/session-registry.ts'
import type { SessionServer } from '../sessions/session-server.ts'
import {
  type AdmissionDeps,
  type Admitted,
  addMcpPath,
  errorResponses,
  readHeader,
} from './admission.ts'
import {
  type Answered,
  openEventStream,
  REFUSALS,
  type Refusal,
  sendAccepted,
  sendAnswer,
  sendRefusal,
  takeBody,
} from './json-rpc.ts'

type McpRouteParts = AdmissionDeps & {
  readonly registry: SessionRegistry
  readonly streams: Pick<StreamKeeper, 'open'>
  readonly follower: Pick<JournalFollower, 'pages' | 'looks'>
  readonly eventIds: EventIds
  /** What is answered to an event id with more frames behind it than a replay reaches (C3). */
  readonly replayBeyond: ReplayBeyond
  readonly limits: McpLimits
  readonly server: Pick<SessionServer, 'ask' | 'tell'>
}

type McpRouteDeps = McpRouteParts & {
  /** The newest GET of a session while it is judged: it wins over those that still are. */
  readonly judged: WeakMap<McpSession, FastifyRequest>
}

/** It is unknown (care.md), or what changed since is told, once for each record. */
export type ReplayBeyond = 'unknown' | 'newest'

type RequestMessage = PostedMessage & { readonly kind: 'request' }

/** All dated protocol versions; the header accepts each of these and no other (C1). */
const KNOWN_VERSIONS: ReadonlySet<string> = new Set([...LEGACY_REVISIONS, MODERN_REVISION])

/** When a client may hope for a free session. */
const TOO_MANY_RETRY_SECONDS = 30

export function addMcpRoute(app: ServiceApp, parts: McpRouteParts): void {
  const deps = { ...parts, judged: new WeakMap() }
  const POST = { ...DOCUMENTATION, body: mcpMessage }
  const schemas = { POST, GET: DOCUMENTATION, DELETE: DOCUMENTATION }
  addMcpPath(app, { ...deps, url: '/mcp', schemas }, (admitted) => takeOver({ deps, ...admitted }))
}

const DOCUMENTATION = {
  tags: ['mcp'],
  headers: z.looseObject({
    'mcp-session-id': z.string().optional().describe('On everything but `initialize`.'),
    'mcp-protocol-version': z.string().optional(),
    'last-event-id': z.string().optional().describe('On GET: the newest event that was received.'),
  }),
  summary: 'MCP over Streamable HTTP',
  description:
    'POST takes one JSON-RPC message; GET opens the event stream; DELETE ends the session. Bearer token required.',
  response: {
    200: z.unknown().describe('A JSON-RPC response, or an event stream of them.'),
    202: z.unknown().describe('A notification was accepted.'),
    ...errorResponses(400, 401, 403, 404, 405, 413, 429),
  },
}

type McpCall = Admitted & { readonly deps: McpRouteDeps }

function takeOver(call: McpCall): void {
  const { deps, request, reply } = call
  if (request.method === 'POST')
    void takeBody(call, deps.limits.bodyBytesMax, (body) => handlePost(call, body))
  else if (request.method === 'GET')
    handleGet(call).catch((error: unknown) => void reply.send(error))
  else handleDelete(call).catch((error: unknown) => void reply.send(error))
}

/** The session that a request names, after all checks; undefined if a refusal was sent. */
async function findSession(call: McpCall): Promise<McpSession | undefined> {
  const { deps, request, reply, claims } = call
  const { registry } = deps
  const id = readHeader(request, 'mcp-session-id')
  const refuse = (refusal: Refusal): undefined => {
    sendRefusal(reply, refusal)
  }
  if (id === undefined) return refuse(REFUSALS.noSession)
  const session = await registry.find(id)
  if (session === undefined) return refuse(REFUSALS.unknownSession)
  if (session.sub !== claims.sub) return refuse(REFUSALS.foreignSession)
  if (!isKnownVersion(request)) return refuse(REFUSALS.unknownVersion)
  await registry.refresh(session, claims)
  return session
}

/** A refusal within a session names it too. */
const named = ({ reply, sessionId }: Required<Answered>): FastifyReply =>
  reply.header('mcp-session-id', sessionId)

function isKnownVersion(request: FastifyRequest): boolean {
  const version = readHeader(request, 'mcp-protocol-version')
  return version === undefined || KNOWN_VERSIONS.has(version)
}

async function handlePost(call: McpCall, body: Uint8Array): Promise<void> {
  const { request, reply } = call
  const message = parseMessage(body)
  if (message.kind === 'not-json') return sendRefusal(reply, REFUSALS.notJson)
  const isInitialize = message.kind === 'request' && message.method === 'initialize'
  if (isInitialize && readHeader(request, 'mcp-session-id') === undefined)
    return openSession(call, message)
  const session = await findSession(call)
  if (session === undefined) return
  const answered = { request, reply, sessionId: session.id }
  if (message.kind === 'invalid') return sendRefusal(named(answered), REFUSALS.invalidMessage)
  // This server asks nothing, so a response answers nothing.
  if (message.kind === 'response') return sendAccepted(answered)
  if (isInitialize) return sendRefusal(named(answered), REFUSALS.alreadyOpen)
  if (message.kind === 'request') return ask(call, session, message)
  const cancelled = call.deps.server.tell(session, message.message)
  if (cancelled !== undefined) call.deps.registry.looks.cancelElsewhere(cancelled)
  sendAccepted(answered)
}

/** `initialize`: opens a session within the limits and answers in it. */
async function openSession(call: McpCall, message: RequestMessage): Promise<void> {
  const { deps, request, reply, claims } = call
  if (!isKnownVersion(request)) return sendRefusal(reply, REFUSALS.unknownVersion)
  if (!initializeRequest.safeParse(message.message).success) {
    const error = { code: RPC_CODES.invalidParams, message: 'params: not those of initialize' }
    const answer = { jsonrpc: '2.0', id: message.id, error }
    return sendAnswer({ request, reply }, answer)
  }
  const session = await deps.registry.open(claims)
  if (session === undefined)
    return sendRefusal(
      reply.header('retry-after', String(TOO_MANY_RETRY_SECONDS)),
      REFUSALS.tooManySessions,
    )
  return ask(call, session, message)
}

async function ask(
  { claims, deps, request, reply }: McpCall,
  session: McpSession,
  { id, message }: RequestMessage,
): Promise<void> {
  const answered = { request, reply, sessionId: session.id }
  const outcome = await deps.server.ask({ session, principal: claims }, id, message)
  if (outcome.kind === 'answered') return sendAnswer(answered, outcome.message)
  if (outcome.kind === 'cancelled') sendAccepted(answered)
  else if (outcome.kind === 'id-in-use') sendRefusal(named(answered), REFUSALS.idInUse)
  else sendRefusal(named(answered), REFUSALS.invalidMessage)
}

/** Where a stream begins; undefined for an event id that is foreign or unknown. */
function startOfStream({ deps, request }: McpCall, session: McpSession): Position | undefined {
  const eventId = readHeader(request, 'last-event-id')
  // Without an id, the stream begins with what no stream of the session has carried (C3).
  if (eventId === undefined) return session.carried
  const from = deps.eventIds.read(session.number, eventId)
  // Beyond the journals: they were put back from a backup.
  return from !== undefined && isWithinSizes(from, deps.follower.looks.reached) ? from : undefined
}

async function handleGet(call: McpCall): Promise<void> {
  const session = await findSession(call)
  if (session === undefined) return
  const { claims, deps, reply, request } = call
  const { follower, judged, limits, streams } = deps
  const from = startOfStream(call, session)
  if (from === undefined) return sendRefusal(reply, REFUSALS.unknownEvent)
  judged.set(session, request)
  const headers = { 'mcp-session-id': session.id }
  const listener = { session, ownScopes: claims.scopes }
  const range = { from, to: follower.looks.reached }
  const isCoalesced =
    isBefore(from, range.to) &&
    (await follower.pages.isBeyond(listener, range, limits.replayFramesMax))
  const isNewest = judged.get(session) === request
  if (isNewest) judged.delete(session)
  // Without an id nothing was promised. With one, a gap must not go unnoticed.
  const isPromised = readHeader(request, 'last-event-id') !== undefined
  if (isCoalesced && isPromised && deps.replayBeyond === 'unknown')
    return sendRefusal(reply, REFUSALS.unknownEvent)
  if (!isNewest) return void openEventStream(reply, headers)?.end(TAKEN_OVER)
  const taken = await deps.registry.takeStream(session)
  if (taken === undefined) return sendRefusal(reply, REFUSALS.unknownSession)
  const epoch = taken.streamEpoch
  const response = openEventStream(reply, headers)
  // Its client has left, or a newer GET has come, here or elsewhere.
  if (response === undefined) return deps.registry.fallSilent(session, epoch)
  if (session.streamEpoch !== epoch) return void response.end(TAKEN_OVER)
  // The stream that it replaces has told more meanwhile.
  const begin = isPromised ? from : session.carried
  streams.open({ session, epoch, response, claims, from: begin, isCoalesced })
}

async function handleDelete(call: McpCall): Promise<void> {
  const session = await findSession(call)
  if (session === undefined) return
  const { deps, reply } = call
  await deps.registry.delete(session)
  void reply.code(200).send()
}
