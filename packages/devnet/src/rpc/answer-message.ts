// Answers JSON-RPC messages, single calls and batches, whether they came in an HTTP body or over a WebSocket.

import type { JsonObject } from './outer-view.ts'
import { checkArguments } from './rpc-arguments.ts'
import { RpcError, type RpcMethods, refusals } from './rpc-method.ts'

/** Methods of a validator and of a pool, which the relay refuses as unsupported. */
const UNSUPPORTED_NAMES = /^(?:engine|txpool)_/

/** Calls to `devnet_*` reach an edge that is otherwise cut off, or nobody could restore it. */
export function isControl(body: unknown): boolean {
  return typeof body === 'string' && /"method"\s*:\s*"devnet_/.test(body)
}

/** What answers calls; `admit` throws for a caller that has used up its limit. */
export type Answering = {
  readonly methods: ReadonlyMap<string, RpcMethods[string]>
  readonly admit: (method: string) => void
  /** Calls in one batch. */
  readonly batchCallsMax: number
  /** What is said of text that is no JSON. */
  readonly unreadable: RpcError
  readonly failure: (id: unknown, error: RpcError) => JsonObject
}

/** The answer to a message, whatever it is. */
export async function answerMessage(
  text: string,
  answering: Answering,
): Promise<JsonObject | readonly JsonObject[]> {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return answering.failure(null, answering.unreadable)
  }
  if (!Array.isArray(body)) return answerCall(answering, body)
  if (body.length > answering.batchCallsMax) {
    return answering.failure(null, refusals.batchTooLarge(body.length, answering.batchCallsMax))
  }
  return body.length === 0
    ? answering.failure(null, refusals.invalidRequest())
    : Promise.all(body.map((call) => answerCall(answering, call)))
}

async function answerCall(answering: Answering, call: unknown): Promise<JsonObject> {
  const { admit, methods } = answering
  const { id = null, method, params = [] } = toCall(call)
  // Controls are no methods of the relay, whose words have the request's id.
  const failure = String(method).startsWith('devnet_') ? oldFailure : answering.failure
  if (typeof method !== 'string' || !Array.isArray(params)) {
    return failure(id, refusals.invalidRequest())
  }
  const run = methods.get(method)
  if (run === undefined) {
    const isKnown = UNSUPPORTED_NAMES.test(method)
    return failure(id, isKnown ? refusals.unsupportedMethod() : refusals.methodNotFound(method))
  }
  try {
    admit(method)
    checkArguments(method, params)
    return { jsonrpc: '2.0', id, result: (await run(params)) ?? null }
  } catch (cause) {
    if (cause instanceof RpcError) return failure(id, cause)
    process.stderr.write(`devnet: ${method}: ${String(cause)}\n`)
    return failure(id, refusals.internalError())
  }
}

function toCall(call: unknown): { id?: unknown; method?: unknown; params?: unknown } {
  return typeof call === 'object' && call !== null ? call : {}
}

/** A refusal, with the id of its request. */
export const describeFailure =
  (requestId: string) =>
  (id: unknown, { code, message, data }: RpcError): JsonObject => ({
    jsonrpc: '2.0',
    id,
    error: { code, message: `[Request ID: ${requestId}] ${message}`, ...(data && { data }) },
  })

export function oldFailure(id: unknown, { oldCode: code, message, data }: RpcError): JsonObject {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data && { data }) } }
}
