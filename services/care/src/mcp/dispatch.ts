/** The one dispatcher for all sessions: which function serves which method, and what a failure reveals. */
import type { Result } from '@modelcontextprotocol/sdk/types.js'
import { levelParams } from '../wire/mcp.ts'
import { complete } from './completion-methods.ts'
import { parseParams, RPC_CODES, RpcFailure } from './json-rpc.ts'
import { getPrompt, listPrompts } from './prompt-methods.ts'
import {
  listResources,
  listResourceTemplates,
  readResource,
  subscribe,
  unsubscribe,
} from './resource-methods.ts'
import { type Dispatch, initializeResult } from './session-server.ts'
import { callTool, listTools } from './tool-methods.ts'
import type { CallContext, McpServices } from './visible-records.ts'

async function setLevel(context: CallContext, params: unknown): Promise<Result> {
  const { level } = parseParams(levelParams, params)
  context.registry.setLogLevel(context.session, level)
  await context.flush()
  return {}
}

/** Every method served; `ping` and `notifications/*` are handled by the SDK server itself. */
const METHODS: Readonly<
  Record<string, (context: CallContext, params: unknown) => Promise<Result>>
> = {
  initialize: async (context) => initializeResult(context),
  'resources/list': listResources,
  'resources/templates/list': listResourceTemplates,
  'resources/read': readResource,
  'resources/subscribe': subscribe,
  'resources/unsubscribe': unsubscribe,
  'completion/complete': complete,
  'prompts/list': listPrompts,
  'prompts/get': getPrompt,
  'tools/list': listTools,
  'tools/call': callTool,
  'logging/setLevel': setLevel,
}

/**
 * A refusal goes out as its handler made it. Any other error is reported and answered with -32603 without its text, which
 * may hold what the caller must not see.
 */
export function createDispatch(
  services: McpServices,
  onFailure: (error: unknown) => void,
): Dispatch {
  return async (session, { method, params }) => {
    const handler = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined
    if (handler === undefined) throw new RpcFailure(RPC_CODES.methodNotFound, 'Method not found')
    try {
      return await handler({ ...services, session, way: method }, params)
    } catch (error) {
      if (error instanceof RpcFailure) throw error
      onFailure(error)
      throw new RpcFailure(RPC_CODES.internalError, 'Internal error')
    }
  }
}
