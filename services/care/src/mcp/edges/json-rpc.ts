/**
 * JSON-RPC over HTTP, past Fastify: reads the bytes of a POST, and sends answers and the transport's refusals.
 * @tallystick/service-kit/mcp parses the bytes; mcp-route.ts and modern-route.ts have the order of the checks.
 */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { readRequestBody } from '@tallystick/service-kit'
import { RPC_CODES, type RpcId, type RpcRefusal } from '@tallystick/service-kit/mcp'
import { errorCodes, type FastifyReply, type FastifyRequest } from 'fastify'

/** Hands a request's body on, or refuses one that is too large with 413. */
export async function takeBody(
  { request, reply }: Pick<Answered, 'request' | 'reply'>,
  bytesMax: number,
  take: (body: Uint8Array) => Promise<void>,
): Promise<void> {
  try {
    const body = await readRequestBody(request.raw, bytesMax)
    if (body !== 'too-large') return await take(body)
    void reply.header('connection', 'close').send(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE())
  } catch (error) {
    void reply.send(error)
  }
}

const JSON_TYPE = 'application/json; charset=utf-8'
const { badRequest, invalidRequest, parseError, sessionForeign, sessionUnknown } = RPC_CODES

/** The transport's refusals: an HTTP status and a JSON-RPC error without an id (care.md, Errors). */
export const REFUSALS = {
  foreignHost: [403, badRequest, 'Host not allowed'],
  foreignOrigin: [403, badRequest, 'Origin not allowed'],
  wrongMethod: [405, badRequest, 'Method not allowed'],
  wrongType: [415, badRequest, 'Content-Type must be application/json'],
  notJson: [400, parseError, 'Parse error'],
  noSession: [
    400,
    badRequest,
    'Bad Request: mcp-session-id header required, or an initialize request',
  ],
  unknownSession: [404, sessionUnknown, 'Session not found'],
  foreignSession: [403, sessionForeign, 'Session belongs to another principal'],
  unknownVersion: [400, badRequest, 'Bad Request: unsupported mcp-protocol-version'],
  unknownEvent: [400, badRequest, 'Unknown event id'],
  invalidMessage: [400, invalidRequest, 'Invalid Request'],
  idInUse: [400, invalidRequest, 'Invalid Request: a request with this id is under way'],
  alreadyOpen: [400, invalidRequest, 'Invalid Request: the session is initialized'],
  tooManySessions: [429, badRequest, 'Too many sessions'],
} as const

export type Refusal = (typeof REFUSALS)[keyof typeof REFUSALS]

export function sendRefusal(reply: FastifyReply, [status, code, message]: Refusal): void {
  sendRpcError(reply, { status, error: { code, message } })
}

/** Sends an error, with the id of its request where that is known. */
export function sendRpcError(
  reply: FastifyReply,
  { status, error }: RpcRefusal,
  id: RpcId | null = null,
): void {
  void reply
    .code(status)
    .header('cache-control', 'no-store')
    .type(JSON_TYPE)
    .send(JSON.stringify({ jsonrpc: '2.0', error, id }))
}

/** Whether a client accepts JSON (C3): yes, unless it asks for an event stream and not for JSON. */
function takesJson(accept: string | undefined): boolean {
  if (accept === undefined) return true
  const types = accept.toLowerCase()
  return !types.includes('text/event-stream') || /application\/(?:json|\*)|\*\/\*/.test(types)
}

export type Answered = {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly sessionId?: string
}

/** Longer texts are sent as bytes. Node writes what fits its stack at once, but long text that is not Latin-1 slowly. */
const TEXT_CHARS_MAX = 4_096

/**
 * Writes an answer past Fastify, whose hooks and serialisers have nothing to add and cost half of a ping. Headers that
 * hooks have set on Node's response (CORS) go with it; the log line and the metrics follow at its end.
 */
function writeAnswer(
  { request, reply, sessionId }: Answered,
  answer: { readonly status: 200 | 202; readonly type?: string; readonly text: string },
): void {
  const { status, type, text } = answer
  const response = reply.raw
  reply.hijack()
  if (response.destroyed) return
  const body = text.length > TEXT_CHARS_MAX ? Buffer.from(text) : text
  response.writeHead(status, {
    ...(type === undefined ? {} : { 'content-type': type, 'cache-control': 'no-store' }),
    'content-length': Buffer.byteLength(body),
    ...(sessionId === undefined ? {} : { 'mcp-session-id': sessionId }),
    'x-content-type-options': 'nosniff',
    'x-request-id': request.id,
  })
  response.end(body)
}

/** Answers a message that gets no result: a notification, a response, a cancelled request. */
export function sendAccepted(answered: Answered): void {
  writeAnswer(answered, { status: 202, text: '' })
}

/** Sends the answer to a request, as JSON or as a stream of one event. */
export function sendAnswer(answered: Answered, message: unknown): void {
  const json = JSON.stringify(message)
  writeAnswer(
    answered,
    takesJson(answered.request.headers.accept)
      ? { status: 200, type: JSON_TYPE, text: json }
      : { status: 200, type: 'text/event-stream', text: `event: message\ndata: ${json}\n\n` },
  )
}

/**
 * Takes a reply over for a stream of events, whose head it writes; undefined if the client has left meanwhile. Its `close`
 * would never be noticed.
 */
export function openEventStream(
  reply: FastifyReply,
  more: OutgoingHttpHeaders = {},
): ServerResponse | undefined {
  const response = reply.raw
  reply.hijack()
  if (response.destroyed || response.closed) return undefined
  // Hooks do not run after this, so the headers they have set so far (CORS, request id) are sent by hand.
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) response.setHeader(name, value)
  // Not chunked: the stream ends with its connection, and each event is one piece for the socket, not three.
  response.removeHeader('transfer-encoding')
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    'x-content-type-options': 'nosniff',
    ...more,
  })
  return response
}
