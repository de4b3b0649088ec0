/**
 * JSON-RPC as MCP 2025-11-25 and 2026-07-28 have it, stateless on one address: what a message is, which revision it
 * speaks, and how the answers of each look. A request of 2026-07-28 says so in its envelope; any other is of 2025-11-25.
 */
import type { IncomingHttpHeaders } from 'node:http'
import {
  envelopeSchema,
  PROTOCOL_VERSION_MEMBER,
  type RpcMessage,
  rpcMessageSchema,
} from '../wire/mcp.ts'

export const MODERN = '2026-07-28'
export const LEGACY = '2025-11-25'
/** Versions that an older client may still name in its header. */
const LEGACY_HEADERS: readonly string[] = [LEGACY, '2025-06-18', '2025-03-26', '2024-11-05']

/** JSON-RPC 2.0's codes, MCP's, and one of our own range. */
export const RPC = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
  badRequest: -32_000,
  headerMismatch: -32_020,
  unsupportedVersion: -32_022,
} as const

export type Revision = typeof MODERN | typeof LEGACY
export type RpcRequest = RpcMessage & { readonly id: string | number }

/** An answer that is an error: its HTTP status beside it, since the two revisions differ there. */
export type RpcRefusal = {
  readonly status: number
  readonly error: { readonly code: number; readonly message: string; readonly data?: object }
}

type PostedMessage =
  | { readonly kind: 'request'; readonly request: RpcRequest; readonly revision: Revision }
  | { readonly kind: 'notification' }
  | { readonly kind: 'refused'; readonly refusal: RpcRefusal; readonly id?: string | number }

export const refusal = (
  status: number,
  code: number,
  { message, data }: { readonly message: string; readonly data?: object },
): RpcRefusal => ({ status, error: { code, message, ...(data && { data }) } })

const utf8 = new TextDecoder('utf-8', { fatal: true })

function parse(body: Uint8Array): { readonly json: unknown } | undefined {
  try {
    return { json: JSON.parse(utf8.decode(body)) }
  } catch {
    return undefined
  }
}

/** Reads a body and the headers that must agree with it. Never throws. */
export function readMessage(body: Uint8Array, headers: IncomingHttpHeaders): PostedMessage {
  const parsed = parse(body)
  if (parsed === undefined) return refused(400, RPC.parseError, { message: 'Parse error' })
  const message = rpcMessageSchema.safeParse(parsed.json).data
  if (message === undefined) return refused(400, RPC.invalidRequest, { message: 'Invalid Request' })
  const { id } = message
  if (id === undefined) return { kind: 'notification' }
  // The arguments are hashed as they came: the schema has only looked at them.
  const request: RpcRequest = { ...message, ...rawParams(parsed.json), id }
  const fault = isModern(request, headers) ? modernFault(request, headers) : undefined
  if (fault !== undefined) return { kind: 'refused', refusal: fault, id }
  const revision = isModern(request, headers) ? MODERN : LEGACY
  return { kind: 'request', request, revision }
}

const refused = (...told: Parameters<typeof refusal>): PostedMessage => ({
  kind: 'refused',
  refusal: refusal(...told),
})

const rawParams = (json: unknown): Pick<RpcMessage, 'params'> => {
  const { params } = json as { readonly params?: Record<string, unknown> }
  return params === undefined ? {} : { params }
}

const metaOf = ({ params }: RpcMessage): Readonly<Record<string, unknown>> => {
  const meta = params?.['_meta']
  return typeof meta === 'object' && meta !== null ? (meta as Record<string, unknown>) : {}
}

function isModern(request: RpcRequest, headers: IncomingHttpHeaders): boolean {
  const version = headers['mcp-protocol-version']?.toString()
  if (Object.hasOwn(metaOf(request), PROTOCOL_VERSION_MEMBER)) return true
  return version !== undefined && !LEGACY_HEADERS.includes(version)
}

const unsupported = (requested: string): RpcRefusal =>
  refusal(400, RPC.unsupportedVersion, {
    message: 'Unsupported protocol version',
    data: { supported: [MODERN], requested },
  })

const mismatch = (header: string): RpcRefusal =>
  refusal(400, RPC.headerMismatch, { message: `${header} does not match the body` })

/** What is wrong with a request that claims to be of 2026-07-28, or of a revision that is not served. */
function modernFault(request: RpcRequest, headers: IncomingHttpHeaders): RpcRefusal | undefined {
  const header = headers['mcp-protocol-version']?.toString()
  if (header !== undefined && header !== MODERN && !LEGACY_HEADERS.includes(header))
    return unsupported(header)
  const envelope = envelopeSchema.safeParse(metaOf(request)).data
  if (envelope === undefined)
    return refusal(400, RPC.invalidParams, { message: '_meta names no version or capabilities' })
  const version = envelope[PROTOCOL_VERSION_MEMBER]
  if (version !== MODERN) return unsupported(version)
  if (header !== version) return mismatch('MCP-Protocol-Version')
  if (headers['mcp-method'] !== request.method) return mismatch('Mcp-Method')
  const named = request.method === 'tools/call' ? request.params?.['name'] : undefined
  if (named !== undefined && readName(headers['mcp-name']) !== named) return mismatch('Mcp-Name')
  return undefined
}

/** A name as a header carries it: as it is, or base64 of its UTF-8. */
function readName(header: string | string[] | undefined): string | undefined {
  const text = header?.toString()
  const encoded = /^=\?base64\?(.*)\?=$/.exec(text ?? '')?.[1]
  return encoded === undefined ? text : Buffer.from(encoded, 'base64').toString('utf8')
}
