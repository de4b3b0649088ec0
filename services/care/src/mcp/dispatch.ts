import type { Result } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { LOG_LEVELS } from '../domain/session-store.ts'
import type { CallContext, McpServices } from './call-context.ts'
import { complete } from './completion-methods.ts'
import { RPC_CODES, RpcFailure } from './json-rpc.ts'
import { getPrompt, listPrompts } from './prompt-methods.ts'
import { parseParams } from './request-params.ts'
import {
  listResources,
  listResourceTemplates,
  readResource,
  subscribe,
  unsubscribe,
} from './resource-methods.ts'
import { type Dispatch, initializeResult, methodNotFound } from './session-server.ts'
import { callTool, listTools } from './tool-methods.ts'

type Method = (context: CallContext, params: unknown) => Promise<Result>

const levelParams = z.object({ level: z.enum(LOG_LEVELS) })

async function setLevel(context: CallContext, params: unknown): Promise<Result> {
  const { level } = parseParams(levelParams, params)
  context.registry.setLogLevel(context.session, level)
  await context.flush()
  return {}
}

const initialize: Method = async (context) => initializeResult(context)

/** Every method that is served; `ping` and `notifications/*` are the SDK server's own. */
const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['initialize', initialize],
  ['resources/list', listResources],
  ['resources/templates/list', listResourceTemplates],
  ['resources/read', readResource],
  ['resources/subscribe', subscribe],
  ['resources/unsubscribe', unsubscribe],
  ['completion/complete', complete],
  ['prompts/list', listPrompts],
  ['prompts/get', getPrompt],
  ['tools/list', listTools],
  ['tools/call', callTool],
  ['logging/setLevel', setLevel],
])

/**
 * The one dispatcher of all sessions. A refusal goes out as its handler made it; anything else that is thrown is reported
 * and answered with -32603 and no word of it, since an exception's text may hold what the caller must not see.
 */
export function createDispatch(
  services: McpServices,
  onFailure: (error: unknown) => void,
): Dispatch {
  return async (session, { method, params }) => {
    const handler = METHODS.get(method)
    if (handler === undefined) throw methodNotFound()
    try {
      return await handler({ ...services, session }, params)
    } catch (error) {
      if (error instanceof RpcFailure) throw error
      onFailure(error)
      throw new RpcFailure(RPC_CODES.internalError, 'Internal error')
    }
  }
}
