/** Which function serves which method, in a session and without one, and what a failure reveals. */
import type { Result } from '@modelcontextprotocol/sdk/types.js'
import { parseParams, RPC_CODES, RpcFailure } from '@tallystick/service-kit/mcp'
import { levelParams } from '../wire/mcp.ts'
import { complete } from './completion-methods.ts'
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
import type { CallContext, McpServices, SessionContext } from './visible-records.ts'

/** A function that serves a method, of either revision. */
export type McpMethod = (context: CallContext, params: unknown) => Promise<Result>

/** Methods that both revisions share: they ask for records, and need no session. */
export const RECORD_METHODS: Readonly<Record<string, McpMethod>> = {
  'resources/list': listResources,
  'resources/templates/list': listResourceTemplates,
  'resources/read': readResource,
  'completion/complete': complete,
  'prompts/list': listPrompts,
  'prompts/get': getPrompt,
  'tools/list': listTools,
  'tools/call': callTool,
}

async function setLevel(context: SessionContext, params: unknown): Promise<Result> {
  const { level } = parseParams(levelParams, params)
  context.registry.setLogLevel(context.session, level)
  await context.flush()
  return {}
}

/** Every method of a session; `ping` and `notifications/*` are handled by the SDK server itself. */
const SESSION_METHODS: Readonly<
  Record<string, (context: SessionContext, params: unknown) => Promise<Result>>
> = {
  ...RECORD_METHODS,
  initialize: async (context) => initializeResult(context),
  'resources/subscribe': subscribe,
  'resources/unsubscribe': unsubscribe,
  'logging/setLevel': setLevel,
}

/**
 * Runs a method. A refusal goes out as its handler made it. Any other error is reported and answered with -32603 without
 * its text, which may hold what the caller must not see.
 */
export async function runMethod<Outcome>(
  run: () => Promise<Outcome>,
  onFailure: (error: unknown) => void,
): Promise<Outcome> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof RpcFailure) throw error
    onFailure(error)
    throw new RpcFailure(RPC_CODES.internalError, 'Internal error')
  }
}

export function createDispatch(
  services: McpServices & Pick<SessionContext, 'registry' | 'flush'>,
  onFailure: (error: unknown) => void,
): Dispatch {
  return (session, { method, params }) => {
    const handler = Object.hasOwn(SESSION_METHODS, method) ? SESSION_METHODS[method] : undefined
    if (handler === undefined) throw new RpcFailure(RPC_CODES.methodNotFound, 'Method not found')
    const context = { ...services, session, principal: session, way: method }
    return runMethod(() => handler(context, params), onFailure)
  }
}
