/**
 * JSON-RPC as MCP uses it, for every service that speaks MCP over HTTP: reads a POST body, and checks what a request of
 * revision 2026-07-28 must state in its envelope and in matching headers. Services decide what methods do and who may call
 * them.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'

/** The revision without sessions, whose requests carry an envelope. */
export const MODERN_REVISION = '2026-07-28'

/** All earlier dated revisions, newest last; an older client may name any of them. */
export const LEGACY_REVISIONS = [
  '2024-10-07',
  '2024-11-05',
  '2025-03-26',
  '2025-06-18',
  '2025-11-25',
] as const

/** The codes of JSON-RPC 2.0 and of both MCP revisions, and those our services use from the range left to them. */
export const RPC_CODES = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
  badRequest: -32_000,
  sessionUnknown: -32_001,
  /** Up to 2025-11-25; later revisions say `invalidParams`. */
  resourceNotFound: -32_002,
  sessionForeign: -32_003,
  headerMismatch: -32_020,
  missingCapability: -32_021,
  unsupportedVersion: -32_022,
} as const

type RpcCode = (typeof RPC_CODES)[keyof typeof RPC_CODES]

/** Thrown by a handler to refuse a request. Its message is public. */
export class RpcFailure extends Error {
  override readonly name = 'RpcFailure'
  readonly code: number
  readonly data: Readonly<Record<string, unknown>> | undefined

  constructor(code: number, message: string, data?: Readonly<Record<string, unknown>>) {
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

/** Zod found this wrong, as its errors list it. */
const zodIssues = z.array(
  z.object({ path: z.array(z.union([z.string(), z.number()])), message: z.string() }),
)

type RpcErrorAnswer = { readonly error: { readonly code: number; readonly message: string } }

/**
 * An error that the MCP SDK answers, with -32602 and the first path if it is of parameters that the SDK's schema refused, as MCP
 * has it. SDK 1.x says -32603 and lists zod's issues as its text, which no method of ours does. SDK 2.x has the code, and makes
 * this unnecessary.
 */
export function withInvalidParams<Answer extends RpcErrorAnswer>(answer: Answer): Answer {
  const { code, message } = answer.error
  if (code !== RPC_CODES.internalError || !message.startsWith('[')) return answer
  const [issue] = zodIssues.parse(JSON.parse(message))
  const refusal = `${issue?.path.join('.')}: ${issue?.message}`
  return { ...answer, error: { code: RPC_CODES.invalidParams, message: refusal } }
}

/**
 * For the SDK's server, which otherwise makes an Ajv instance, only to check answers to elicitations: our servers elicit nothing.
 */
export const NO_VALIDATOR = {
  getValidator: () => () =>
    ({ valid: false, data: undefined, errorMessage: 'nothing was elicited' }) as const,
}

export type RpcId = string | number

/** A request or, without an id, a notification; without anything that JSON-RPC does not know. */
type RpcMessage = {
  readonly jsonrpc: '2.0'
  readonly id?: RpcId
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

export type RpcRequest = RpcMessage & { readonly id: RpcId }

/**
 * A message without its wish to become a task: a server without tasks serves it as any other (MCP 2025-11-25), where SDK 1.x
 * refuses it.
 */
export function withoutTask<
  Message extends { readonly params?: Readonly<Record<string, unknown>> | undefined },
>(message: Message): Message {
  if (message.params?.['task'] === undefined) return message
  const { task: _task, ...params } = message.params
  return { ...message, params }
}

/** A POST body as understood. */
export type PostedMessage =
  | { readonly kind: 'not-json' }
  /** JSON, but not a single JSON-RPC message; batches ended with MCP 2025-06-18. */
  | { readonly kind: 'invalid' }
  | {
      readonly kind: 'request'
      readonly id: RpcId
      readonly method: string
      readonly message: RpcRequest
    }
  | { readonly kind: 'notification'; readonly method: string; readonly message: RpcMessage }
  /** An answer to a request from the server. */
  | { readonly kind: 'response' }

const utf8 = new TextDecoder('utf-8', { fatal: true })

const isId = (id: unknown): id is RpcId =>
  typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id))

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Reads the bytes of a POST body. Parameters are as the sender wrote them. Never throws. */
export function parseMessage(body: Uint8Array): PostedMessage {
  let message: unknown
  try {
    message = JSON.parse(utf8.decode(body))
  } catch {
    return { kind: 'not-json' }
  }
  if (!isObject(message) || message['jsonrpc'] !== '2.0') return { kind: 'invalid' }
  const { id, method, params } = message
  if (method === undefined)
    return 'result' in message || 'error' in message ? { kind: 'response' } : { kind: 'invalid' }
  if (typeof method !== 'string') return { kind: 'invalid' }
  if (params !== undefined && !isObject(params)) return { kind: 'invalid' }
  const clean = { jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) } as const
  if (id === undefined) return { kind: 'notification', method, message: clean }
  if (!isId(id)) return { kind: 'invalid' }
  return { kind: 'request', id, method, message: { ...clean, id } }
}

/** An answer that is an error, with its HTTP status. */
export type RpcRefusal = {
  readonly status: number
  readonly error: { readonly code: number; readonly message: string; readonly data?: object }
}

export const rpcRefusal = (
  status: number,
  code: RpcCode,
  { message, data }: { readonly message: string; readonly data?: object | undefined },
): RpcRefusal => ({ status, error: { code, message, ...(data && { data }) } })

const VERSION_MEMBER = 'io.modelcontextprotocol/protocolVersion'

/** Each request of 2026-07-28 states this about itself in `params._meta`. */
const envelopeSchema = z.object({
  [VERSION_MEMBER]: z.string(),
  'io.modelcontextprotocol/clientCapabilities': z.record(z.string(), z.unknown()),
})

const readMeta = ({ params }: RpcMessage): Readonly<Record<string, unknown>> => {
  const meta = params?.['_meta']
  return isObject(meta) ? meta : {}
}

/** A header without the surrounding whitespace that RFC 9110 allows. */
const readHeader = (headers: IncomingHttpHeaders, name: string): string | undefined =>
  headers[name]?.toString().trim()

const isLegacy = (version: string): boolean =>
  LEGACY_REVISIONS.some((revision) => revision === version)

/** Whether a request claims, by envelope or header, to be of 2026-07-28 or of an unknown revision. */
export function isModern(request: RpcRequest, headers: IncomingHttpHeaders): boolean {
  if (Object.hasOwn(readMeta(request), VERSION_MEMBER)) return true
  const version = readHeader(headers, 'mcp-protocol-version')
  return version !== undefined && !isLegacy(version)
}

const unsupported = (requested: string | undefined): RpcRefusal =>
  rpcRefusal(400, RPC_CODES.unsupportedVersion, {
    message: 'Unsupported protocol version',
    data: { supported: [MODERN_REVISION], ...(requested !== undefined && { requested }) },
  })

/** The refusal of an older request where only 2026-07-28 is served; it repeats the version that the request named. */
export function olderRevision(request: RpcRequest, headers: IncomingHttpHeaders): RpcRefusal {
  const named = readHeader(headers, 'mcp-protocol-version') ?? request.params?.['protocolVersion']
  return unsupported(typeof named === 'string' ? named : undefined)
}

const mismatch = (header: string): RpcRefusal =>
  rpcRefusal(400, RPC_CODES.headerMismatch, { message: `${header} does not match the body` })

/** Methods whose target is also in the header `Mcp-Name`, with the parameter that names it. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
}

/** Finds what is wrong with a request that claims to be of 2026-07-28 or of an unknown revision. */
export function modernFault(
  request: RpcRequest,
  headers: IncomingHttpHeaders,
): RpcRefusal | undefined {
  const header = readHeader(headers, 'mcp-protocol-version')
  const named = readMeta(request)[VERSION_MEMBER]
  if (header !== undefined && typeof named === 'string' && header !== named)
    return mismatch('MCP-Protocol-Version')
  if (header !== undefined && header !== MODERN_REVISION && !isLegacy(header))
    return unsupported(header)
  const envelope = envelopeSchema.safeParse(readMeta(request)).data
  if (envelope === undefined)
    return rpcRefusal(400, RPC_CODES.invalidParams, {
      message: '_meta names no version or capabilities',
    })
  const version = envelope[VERSION_MEMBER]
  if (version !== MODERN_REVISION) return unsupported(version)
  if (header !== version) return mismatch('MCP-Protocol-Version')
  if (readHeader(headers, 'mcp-method') !== request.method) return mismatch('Mcp-Method')
  const member = Object.hasOwn(NAMED_BY, request.method) ? NAMED_BY[request.method] : undefined
  const target = member === undefined ? undefined : request.params?.[member]
  if (target !== undefined && readName(readHeader(headers, 'mcp-name')) !== target)
    return mismatch('Mcp-Name')
  return undefined
}

/** A header may carry these unencoded: visible ASCII, with spaces and tabs. */
const PLAIN_HEADER = /^[\t\x20-\x7E]*$/
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** The name in a header, plain or as base64 of its UTF-8; undefined for anything else. */
function readName(header: string | undefined): string | undefined {
  if (header === undefined || !PLAIN_HEADER.test(header)) return undefined
  const encoded = /^=\?base64\?(.*)\?=$/.exec(header)?.[1]
  if (encoded === undefined) return header
  if (!BASE64.test(encoded)) return undefined
  try {
    return utf8.decode(Buffer.from(encoded, 'base64'))
  } catch {
    return undefined
  }
}

/** A result as 2026-07-28 wants it: marked complete, with the server's name. */
export function completeResult(
  result: object,
  serverInfo: { readonly name: string; readonly version: string },
): object {
  const { _meta } = result as { readonly _meta?: object }
  const signed = { ..._meta, 'io.modelcontextprotocol/serverInfo': serverInfo }
  return { resultType: 'complete', ...result, _meta: signed }
}
