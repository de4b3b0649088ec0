/**
 * `/mcp`, the Streamable HTTP transport (MCP 2025-11-25) as far as it is HTTP. The order of the checks is that of C2: host,
 * token, method, size, JSON, session header, session, owner; then protocol version and message. Sessions and methods live in
 * files of their own.
 */
import { METHODS } from 'node:http'
import type { TokenClaims } from '@tallystick/jwt-lite'
import { type ServiceApp, sendError } from '@tallystick/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { parseEventId } from './event-id.ts'
import { type IncomingMessage, parseMessage, RPC_CODES } from './json-rpc.ts'
import type { McpLimits } from './limits.ts'
import { REFUSALS, type Refusal, sendAccepted, sendAnswer, sendRefusal } from './mcp-answers.ts'
import type { McpSession } from './session.ts'
import type { SessionRegistry } from './session-registry.ts'
import type { SessionServer } from './session-server.ts'
import type { StreamKeeper } from './stream-keeper.ts'
import type { TokenCheck } from './token-check.ts'

export type McpRouteDeps = {
  readonly registry: SessionRegistry
  readonly streams: StreamKeeper
  readonly limits: McpLimits
  readonly checkToken: (authorization: string | undefined) => TokenCheck
  readonly isOwnHost: (host: string | undefined) => boolean
  readonly server: Pick<SessionServer, 'ask' | 'tell'>
  /** Resolves when what was saved of the sessions is kept. */
  readonly flush: () => Promise<void>
}

type RequestMessage = IncomingMessage & { readonly kind: 'request' }

/** Dated protocol versions there are; each is accepted in the header, an unknown one is not (C1). */
const KNOWN_VERSIONS: ReadonlySet<string> = new Set([
  '2024-10-07',
  '2024-11-05',
  '2025-03-26',
  '2025-06-18',
  '2025-11-25',
  '2026-07-28',
])

/** When a client may hope for a free place among the sessions. */
const TOO_MANY_RETRY_SECONDS = 30

const SERVED = ['POST', 'GET', 'DELETE'] as const
/** OPTIONS is answered before any route (S9); CONNECT never reaches one. */
const REFUSED = METHODS.filter(
  (method) => !['POST', 'GET', 'DELETE', 'OPTIONS', 'CONNECT'].includes(method),
)

const initializeParams = z.object({
  protocolVersion: z.string(),
  capabilities: z.looseObject({}),
  clientInfo: z.looseObject({ name: z.string(), version: z.string() }),
})

const header = (request: FastifyRequest, name: string): string | undefined => {
  const value = request.headers[name]
  return typeof value === 'string' ? value : undefined
}

/** Adds `/mcp` in a scope of its own, where bodies stay bytes. */
export function addMcpRoute(app: ServiceApp, deps: McpRouteDeps): void {
  const claimsOf = new WeakMap<FastifyRequest, TokenClaims>()

  // With a callback, which costs a promise less per request than an async hook.
  const admit = (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const check = deps.checkToken(request.headers.authorization)
    if (!deps.isOwnHost(request.headers.host)) sendRefusal(reply, REFUSALS.foreignHost)
    else if (check.kind === 'refused') sendChallenge(reply, check)
    else if (!SERVED.some((method) => method === request.method))
      sendRefusal(reply.header('allow', 'DELETE, GET, OPTIONS, POST'), REFUSALS.wrongMethod)
    else {
      claimsOf.set(request, check.claims)
      done()
    }
  }
  const handle = (request: FastifyRequest, reply: FastifyReply): void => {
    const claims = claimsOf.get(request)
    if (claims === undefined) throw new Error('a request was handled that was never admitted')
    handleCall({ deps, request, reply, claims }).catch((error: unknown) => {
      void reply.send(error)
    })
  }

  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
      done(null, body)
    })
    const options = { url: '/mcp', onRequest: admit, bodyLimit: deps.limits.bodyBytesMax }
    scope.route({ ...options, method: [...SERVED], schema: DOCUMENTATION, handler: handle })
    scope.route({ ...options, method: REFUSED, schema: { hide: true }, handler: handle })
  })
}

const errorBody = z
  .looseObject({ error: z.unknown() })
  .describe('`error` is a JSON-RPC error, or the code `invalid_token` or `payload_too_large`.')

/** What the reference says; bodies leave as text, so that none of this is run. */
const DOCUMENTATION = {
  summary: 'MCP over Streamable HTTP',
  description:
    'POST takes one JSON-RPC message; GET opens the event stream; DELETE ends the session. Bearer token required.',
  response: {
    200: z.unknown().describe('A JSON-RPC response, or an event stream of them.'),
    202: z.unknown().describe('A notification was taken.'),
    ...Object.fromEntries([400, 401, 403, 404, 405, 413, 429].map((code) => [code, errorBody])),
  },
}

/** One admitted request. */
type McpCall = {
  readonly deps: McpRouteDeps
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly claims: TokenClaims
}

async function handleCall(call: McpCall): Promise<void> {
  if (call.request.method === 'POST') {
    await handlePost(call)
    return
  }
  const session = findSession(call)
  if (session === undefined) return
  if (call.request.method === 'GET') handleGet(call, session)
  else await handleDelete(call, session)
}

function sendChallenge(
  reply: FastifyReply,
  { challenge, description }: TokenCheck & { readonly kind: 'refused' },
): void {
  sendError(reply, {
    status: 401,
    error: 'invalid_token',
    details: { error_description: description },
    headers: { 'www-authenticate': challenge, 'cache-control': 'no-store' },
  })
}

/** The session that a request names, after all checks; undefined when a refusal was sent. */
function findSession(call: McpCall): McpSession | undefined {
  const { deps, request, reply, claims } = call
  const { registry } = deps
  const id = header(request, 'mcp-session-id')
  const refuse = (refusal: Refusal): undefined => {
    sendRefusal(reply, refusal)
  }
  if (id === undefined) return refuse(REFUSALS.noSession)
  const session = registry.find(id)
  if (session === undefined) return refuse(REFUSALS.unknownSession)
  if (session.sub !== claims.sub) return refuse(REFUSALS.foreignSession)
  if (!isKnownVersion(request)) return refuse(REFUSALS.unknownVersion)
  registry.refresh(session, claims)
  return session
}

function isKnownVersion(request: FastifyRequest): boolean {
  const version = header(request, 'mcp-protocol-version')
  return version === undefined || KNOWN_VERSIONS.has(version)
}

async function handlePost(call: McpCall): Promise<void> {
  const { request, reply } = call
  const message = parseMessage(request.body instanceof Uint8Array ? request.body : undefined)
  if (message.kind === 'not-json') return sendRefusal(reply, REFUSALS.notJson)
  const isInitialize = message.kind === 'request' && message.method === 'initialize'
  if (isInitialize && header(request, 'mcp-session-id') === undefined)
    return openSession(call, message)
  const session = findSession(call)
  if (session === undefined) return
  void reply.header('mcp-session-id', session.id)
  if (message.kind === 'invalid') return sendRefusal(reply, REFUSALS.invalidMessage)
  // This server asks nothing, so an answer answers nothing.
  if (message.kind === 'response') return sendAccepted(reply)
  if (isInitialize) return sendRefusal(reply, REFUSALS.alreadyOpen)
  if (message.kind === 'request') return ask(call, session, message)
  call.deps.server.tell(session, message.message)
  sendAccepted(reply)
}

/** `initialize`: opens a session within the caps and answers in it. */
async function openSession(call: McpCall, message: RequestMessage): Promise<void> {
  const { deps, request, reply, claims } = call
  if (!isKnownVersion(request)) return sendRefusal(reply, REFUSALS.unknownVersion)
  const params = 'params' in message.message ? message.message.params : undefined
  if (!initializeParams.safeParse(params).success) {
    const error = { code: RPC_CODES.invalidParams, message: 'params: not those of initialize' }
    const answer = { jsonrpc: '2.0', id: message.id, error }
    return sendAnswer(reply, { message: answer, accept: request.headers.accept })
  }
  const outcome = deps.registry.open(claims)
  if (outcome.kind === 'too-many')
    return sendRefusal(
      reply.header('retry-after', String(TOO_MANY_RETRY_SECONDS)),
      REFUSALS.tooManySessions,
    )
  const { session } = outcome
  void reply.header('mcp-session-id', session.id)
  return ask(call, session, message)
}

async function ask(
  { deps, request, reply }: McpCall,
  session: McpSession,
  { id, message }: RequestMessage,
): Promise<void> {
  const outcome = await deps.server.ask(session, id, message)
  if (outcome.kind === 'answered')
    return sendAnswer(reply, { message: outcome.message, accept: request.headers.accept })
  if (outcome.kind === 'cancelled') sendAccepted(reply)
  else if (outcome.kind === 'id-in-use') sendRefusal(reply, REFUSALS.idInUse)
  else sendRefusal(reply, REFUSALS.invalidMessage)
}

/** The sequence after which a stream begins; undefined for an event id that is foreign, unknown or too old. */
function startOfStream(request: FastifyRequest, session: McpSession): number | undefined {
  const eventId = header(request, 'last-event-id')
  // Without an id the stream begins with what no stream of the session has carried (C3).
  if (eventId === undefined) return Math.max(session.carriedSequence, session.ring.floorSequence)
  const sequence = parseEventId(session, eventId)
  if (sequence === undefined) return undefined
  const { floorSequence, lastSequence } = session.ring
  return sequence >= floorSequence && sequence <= lastSequence ? sequence : undefined
}

function handleGet({ deps, request, reply, claims }: McpCall, session: McpSession): void {
  const cursor = startOfStream(request, session)
  if (cursor === undefined) return sendRefusal(reply, REFUSALS.unknownEvent)
  const response = reply.raw
  reply.hijack()
  // The client may have gone while its token was checked; its `close` would never be heard.
  if (response.destroyed || response.closed) return
  // Hooks do not run after this, so what they set so far (CORS, request id) is sent by hand.
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) response.setHeader(name, value)
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    'x-content-type-options': 'nosniff',
    'mcp-session-id': session.id,
  })
  deps.streams.open({ session, response, expiresAtMs: claims.expiresAtSeconds * 1000, cursor })
}

async function handleDelete({ deps, reply }: McpCall, session: McpSession): Promise<void> {
  deps.registry.end(session, 'deleted')
  await deps.flush()
  void reply.code(200).send()
}
