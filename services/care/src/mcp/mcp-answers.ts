import type { FastifyReply } from 'fastify'
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

/*
 * What sends here returns nothing: a reply that is returned from an async function is awaited, and Fastify then watches the
 * response to its end, which costs more than all of a ping.
 */

/** Sends a refusal of the transport. */
export function sendRefusal(reply: FastifyReply, { status, code, message }: Refusal): void {
  void reply
    .code(status)
    .header('cache-control', 'no-store')
    .type(JSON_TYPE)
    .send(rpcErrorBody({ code, message }))
}

/** Whether a client takes JSON (C3): unless it asks for an event stream and for no JSON. */
export function takesJson(accept: string | undefined): boolean {
  if (accept === undefined) return true
  const types = accept.toLowerCase()
  return !types.includes('text/event-stream') || /application\/(?:json|\*)|\*\/\*/.test(types)
}

/** Answers what has no answer: a notification, a response, a request that was taken back. */
export function sendAccepted(reply: FastifyReply): void {
  void reply.code(202).send()
}

/** Sends the answer to a request, as JSON or as a stream of one event. */
export function sendAnswer(
  reply: FastifyReply,
  answer: { readonly message: unknown; readonly accept: string | undefined },
): void {
  const text = JSON.stringify(answer.message)
  void reply.code(200).header('cache-control', 'no-store')
  // Bytes, since Node writes a long string that is not Latin-1 several times slower than its bytes.
  if (takesJson(answer.accept)) void reply.type(JSON_TYPE).send(Buffer.from(text))
  else void reply.type('text/event-stream').send(Buffer.from(`event: message\ndata: ${text}\n\n`))
}
