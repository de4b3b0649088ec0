import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js'

/** The codes that this service answers with: JSON-RPC 2.0's, MCP 2025-11-25's -32002, and those of care.md's Errors. */
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

export type RpcCode = (typeof RPC_CODES)[keyof typeof RPC_CODES]

/** An answer in the making: what a handler throws when a request is to be refused. Its message is public. */
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

/** The body of an error that belongs to no request: `id` is null (care.md, Errors). */
export function rpcErrorBody(error: { readonly code: RpcCode; readonly message: string }): string {
  return JSON.stringify({ jsonrpc: '2.0', error, id: null })
}

/** A POST body as it was understood. */
export type IncomingMessage =
  | { readonly kind: 'not-json' }
  /** JSON, but no single JSON-RPC message; batches ended with MCP 2025-06-18. */
  | { readonly kind: 'invalid' }
  | {
      readonly kind: 'request'
      readonly id: RequestId
      readonly method: string
      readonly message: JSONRPCMessage
    }
  | { readonly kind: 'notification'; readonly method: string; readonly message: JSONRPCMessage }
  /** An answer to a request of ours; this server makes none. */
  | { readonly kind: 'response' }

const utf8 = new TextDecoder('utf-8', { fatal: true })

const isId = (id: unknown): id is RequestId =>
  typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id))

const isParams = (params: unknown): boolean =>
  params === undefined || (typeof params === 'object' && params !== null && !Array.isArray(params))

/** Reads the bytes of a POST body. Never throws. */
export function parseMessage(body: Uint8Array | undefined): IncomingMessage {
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
  // Handlers get what the sender wrote and nothing that JSON-RPC does not know.
  const clean = { jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) }
  if (id === undefined) return { kind: 'notification', method, message: clean as JSONRPCMessage }
  if (!isId(id)) return { kind: 'invalid' }
  return { kind: 'request', id, method, message: { ...clean, id } as JSONRPCMessage }
}
