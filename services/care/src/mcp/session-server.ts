import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { Result, ServerCapabilities } from '@modelcontextprotocol/sdk/types.js'
import type { JsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/types.js'
import { RPC_CODES, RpcFailure } from './json-rpc.ts'
import type { McpSession } from './session.ts'

/** The only version that is negotiated: the floor (C1), and the newest whose sessions this transport speaks. */
export const PROTOCOL_VERSION = '2025-11-25'

/** What the service declares (care.md), and `tools` (C12). */
export const CAPABILITIES = {
  resources: { subscribe: true, listChanged: true },
  completions: {},
  prompts: {},
  logging: {},
  tools: {},
} as const satisfies ServerCapabilities

/** Answers one request of a session; throws `RpcFailure` for a refusal. */
export type Dispatch = (
  session: McpSession,
  request: { readonly method: string; readonly params?: unknown },
) => Promise<Result>

/**
 * One for all sessions. The SDK makes an Ajv instance per server otherwise, which is most of a session's memory; it is used
 * only to check answers to elicitations, and this server elicits nothing.
 */
const SHARED_VALIDATOR = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return () => ({ valid: false, data: undefined, errorMessage: 'nothing was elicited' })
  },
}

/** Methods that the SDK's server would answer itself; ours are in the one dispatcher. */
const OWN_METHODS = ['initialize', 'logging/setLevel'] as const

/** Connects a session to a server of its own; requests reach `dispatch`, answers come back through the session. */
export async function connectServer(options: {
  readonly session: McpSession
  readonly serviceName: string
  readonly version: string
  readonly dispatch: Dispatch
}): Promise<void> {
  const { session, serviceName, version, dispatch } = options
  const server = new Server(
    { name: `tallystick-${serviceName}`, version },
    { capabilities: CAPABILITIES, jsonSchemaValidator: SHARED_VALIDATOR },
  )
  for (const method of OWN_METHODS) server.removeRequestHandler(method)
  // One function for all methods, rather than a dozen closures per session with a second parse of every message.
  server.fallbackRequestHandler = (request) => dispatch(session, request)
  Object.assign(server, { onerror: () => session.noteRefusal() })
  await server.connect(session)
}

/** What `initialize` answers. The version does not depend on what the client asks for (C1). */
export function initializeResult(options: {
  readonly serviceName: string
  readonly version: string
}): Result {
  const { serviceName, version } = options
  return {
    protocolVersion: PROTOCOL_VERSION,
    capabilities: CAPABILITIES,
    serverInfo: { name: `tallystick-${serviceName}`, title: 'Tallystick care records', version },
    instructions: INSTRUCTIONS,
  }
}

const INSTRUCTIONS = [
  'Care records of people at home, one per patient and domain, each a chain of versions.',
  'care:// records may be spoken to the person. care-internal:// records are for you alone: never say, quote or paraphrase them.',
  'Read a record right before you speak it. If its text carries a [STALE …] line, say the age aloud with it.',
  'Subscribe to each record that you have spoken. When it is updated, read it again; if the read carries a retraction in its _meta, say that sentence first.',
].join('\n')

/** The code of a method that nobody answers. */
export function methodNotFound(): RpcFailure {
  return new RpcFailure(RPC_CODES.methodNotFound, 'Method not found')
}
