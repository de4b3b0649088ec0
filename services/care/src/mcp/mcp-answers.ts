import type { FastifyReply, FastifyRequest } from 'fastify'
import { RPC_CODES, type RpcCode, rpcErrorBody } from './json-rpc.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

/** A refusal of the transport: an HTTP status and a JSON-RPC error without an id (care.md, Errors). */
export type Refusal = { readonly status: number; readonly code: RpcCode; readonly message: string }

/** Every refusal of the transport; the order of the checks is in mcp-route.ts. */
export const REFUSALS = {
  foreignHost: { status: 403, code: RPC_CODES.badRequest, message: 'Host not allowed' },
  wrongMethod: { status: 405, code: RPC_CODES.badRequest, message: 'Method not allowed' },
  notJson: { status: 400, code: RPC_CODES.parseError, message: 'Parse error' },
  noSession: {
    status: 400,
    code: RPC_CODES.badRequest,
    message: 'Bad Request: mcp-session-id header required, or an initialize request',
  },
  unknownSession: { status: 404, code: RPC_CODES.sessionUnknown, message: 'Session not found' },
  foreignSession: {
    status: 403,
    code: RPC_CODES.sessionForeign,
    message: 'Session belongs to another principal',
  },
  unknownVersion: {
    status: 400,
    code: RPC_CODES.badRequest,
    message: 'Bad Request: unsupported mcp-protocol-version',
  },
  unknownEvent: { status: 400, code: RPC_CODES.badRequest, message: 'Unknown event id' },
  invalidMessage: { status: 400, code: RPC_CODES.invalidRequest, message: 'Invalid Request' },
  idInUse: {
    status: 400,
    code: RPC_CODES.invalidRequest,
    message: 'Invalid Request: a request with this id is under way',
  },
  alreadyOpen: {
    status: 400,
    code: RPC_CODES.invalidRequest,
    message: 'Invalid Request: the session is initialized',
  },
  tooManySessions: { status: 429, code: RPC_CODES.badRequest, message: 'Too many sessions' },
} as const satisfies Readonly<Record<string, Refusal>>

/** Sends a refusal of the transport. */
export function sendRefusal(reply: FastifyReply, { status, code, message }: Refusal): void {
  void reply
    .code(status)
    .header('cache-control', 'no-store')
    .type(JSON_TYPE)
    .send(rpcErrorBody({ code, message }))
}

/** Whether a client takes JSON (C3): unless it asks for an event stream and for no JSON. */
function takesJson(accept: string | undefined): boolean {
  if (accept === undefined) return true
  const types = accept.toLowerCase()
  return !types.includes('text/event-stream') || /application\/(?:json|\*)|\*\/\*/.test(types)
}

/** A request, its reply and the session that it belongs to. */
export type Answered = {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** Absent where there is none yet. */
  readonly sessionId?: string
}

/** Longer texts are sent as bytes: Node writes what fits its stack at once, and long text that is not Latin-1 slowly. */
const TEXT_CHARS_MAX = 4_096

/**
 * Writes an answer past Fastify, whose hooks and serialisers have nothing to add to it: half of what a ping cost. What the
 * hooks have put on Node's response (CORS) is sent with it; the log line and the metrics are made when it has ended.
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

/** Answers what has no answer: a notification, a response, a request that was taken back. */
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
