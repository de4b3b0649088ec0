/**
 * JSON-RPC over HTTP: turns the bytes of a POST into a message or one of the transport's refusals, and sends answers past
 * Fastify. mcp-route.ts has the order of the checks.
 */
import type { IncomingMessage } from 'node:http'
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'

/** The codes that this service answers with: JSON-RPC 2.0's, MCP 2025-11-25's -32002, and those in care.md's Errors. */
export const RPC_CODES = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
  badRequest: -32_000,
  sessionUnknown: -32_001,
  resourceNotFound: -32_002,
  sessionForeign: -32_003,
} as const

type RpcCode = (typeof RPC_CODES)[keyof typeof RPC_CODES]

/** Thrown by a handler to refuse a request. Its message is public. */
export class RpcFailure extends Error {
  override readonly name = 'RpcFailure'
  readonly code: RpcCode
  readonly data: Readonly<Record<string, unknown>> | undefined

  constructor(code: RpcCode, message: string, data?: Readonly<Record<string, unknown>>) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** The parameters of a request; refuses with -32602 and the path of what does not fit, never its value. */
export function parseParams<S extends z.ZodType>(schema: S, params: unknown): z.output<S> {
  const parsed = schema.safeParse(params ?? {})
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const path = ['params', ...(issue?.path ?? [])].join('.')
  throw new RpcFailure(RPC_CODES.invalidParams, `${path}: ${issue?.message ?? 'invalid'}`)
}

/** Reads a request's body; `undefined` if it is too large. Calls nothing if the client leaves meanwhile. */
export function readBody(
  request: IncomingMessage,
  bytesMax: number,
  take: (body: Uint8Array | undefined) => void,
): void {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return take(undefined)
  const pieces: Buffer[] = []
  let bytes = 0
  const onData = (piece: Buffer): void => {
    bytes += piece.length
    pieces.push(piece)
    if (bytes <= bytesMax) return
    request.off('data', onData)
    request.off('end', onEnd)
    take(undefined)
  }
  const onEnd = (): void => {
    const [first] = pieces
    take(first !== undefined && pieces.length === 1 ? first : Buffer.concat(pieces))
  }
  request.on('data', onData)
  request.on('end', onEnd)
  // A client that leaves in the middle of its body gets no answer; without a listener the error would end the process.
  request.on('error', () => undefined)
}

/** A POST body as understood. */
export type PostedMessage =
  | { readonly kind: 'not-json' }
  /** JSON, but not a single JSON-RPC message; batches ended with MCP 2025-06-18. */
  | { readonly kind: 'invalid' }
  | {
      readonly kind: 'request'
      readonly id: RequestId
      readonly method: string
      readonly message: JSONRPCMessage
    }
  | { readonly kind: 'notification'; readonly method: string; readonly message: JSONRPCMessage }
  /** An answer to a request from us; this server makes none. */
  | { readonly kind: 'response' }

const utf8 = new TextDecoder('utf-8', { fatal: true })

const isId = (id: unknown): id is RequestId =>
  typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id))

const isParams = (params: unknown): boolean =>
  params === undefined || (typeof params === 'object' && params !== null && !Array.isArray(params))

/** Reads the bytes of a POST body. Never throws. */
export function parseMessage(body: Uint8Array): PostedMessage {
  let parsed: unknown
  try {
    parsed = JSON.parse(utf8.decode(body))
  } catch {
    return { kind: 'not-json' }
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    return { kind: 'invalid' }
  const message = parsed as Record<string, unknown>
  if (message['jsonrpc'] !== '2.0') return { kind: 'invalid' }
  const { id, method, params } = message
  if (method === undefined)
    return 'result' in message || 'error' in message ? { kind: 'response' } : { kind: 'invalid' }
  if (typeof method !== 'string' || !isParams(params)) return { kind: 'invalid' }
  // Handlers get what the sender wrote, without anything that JSON-RPC does not know.
  const clean = { jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) }
  if (id === undefined) return { kind: 'notification', method, message: clean as JSONRPCMessage }
  if (!isId(id)) return { kind: 'invalid' }
  return { kind: 'request', id, method, message: { ...clean, id } as JSONRPCMessage }
}

const JSON_TYPE = 'application/json; charset=utf-8'
const { badRequest, invalidRequest, parseError, sessionForeign, sessionUnknown } = RPC_CODES

/** The transport's refusals: an HTTP status and a JSON-RPC error without an id (care.md, Errors). */
export const REFUSALS = {
  foreignHost: [403, badRequest, 'Host not allowed'],
  foreignOrigin: [403, badRequest, 'Origin not allowed'],
  wrongMethod: [405, badRequest, 'Method not allowed'],
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
  void reply
    .code(status)
    .header('cache-control', 'no-store')
    .type(JSON_TYPE)
    .send(JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null }))
}

/** Whether a client accepts JSON (C3): yes, unless it asks for an event stream and not for JSON. */
function takesJson(accept: string | undefined): boolean {
  if (accept === undefined) return true
  const types = accept.toLowerCase()
  return !types.includes('text/event-stream') || /application\/(?:json|\*)|\*\/\*/.test(types)
}

/** A request, its reply and its session, if it has one. */
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

/** Answers what has no answer: a notification, a response, a cancelled request. */
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
