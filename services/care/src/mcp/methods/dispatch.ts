/** Which function serves which method, in a session and without one, and what a failure reveals. */
import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  type RequestId,
  type Result,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { parseParams, RPC_CODES, RpcFailure } from '@tallystick/service-kit/mcp'
import type { z } from 'zod'
import { initializeRequest, type LogLevel } from '../../wire/mcp.ts'
import type { CallContext, McpServices, SessionContext } from '../records/visible-records.ts'
import { type Caller, initializeResult } from '../sessions/session-server.ts'
import { complete } from './completion-methods.ts'
import { getPrompt, listPrompts } from './prompt-methods.ts'
import {
  listResources,
  listResourceTemplates,
  readResource,
  subscribe,
  unsubscribe,
} from './resource-methods.ts'
import { callTool, listTools } from './tool-methods.ts'

/** A function that serves a method of the revision without sessions; it checks its parameters itself. */
export type McpMethod = (context: CallContext, params: unknown) => Promise<Result>

/** A request's schema as the SDK writes them. */
type RequestSchema = z.ZodObject<{ method: z.ZodLiteral<string>; params: z.ZodType }>

/** Runs a request of a session in its context. */
type RunInSession = (
  id: RequestId,
  serve: (context: SessionContext) => Promise<Result>,
) => Promise<Result>

/** A method by its schema, with what serves it. In a session the SDK checks parameters; without one, the same schema does. */
function method<Schema extends RequestSchema, Context extends CallContext>(
  schema: Schema,
  serve: (context: Context, params: z.output<Schema>['params']) => Promise<Result>,
) {
  return {
    name: schema.shape.method.value,
    serve: (context: Context, params: unknown): Promise<Result> =>
      serve(context, parseParams(schema.shape.params, params)),
    register: (server: Server, run: RunInSession): void => {
      type Asked = { readonly params: unknown }
      const handle = ({ params }: Asked, { requestId }: { readonly requestId: RequestId }) =>
        run(requestId, (context) => serve(context as CallContext as Context, params))
      server.setRequestHandler<RequestSchema>(schema, handle)
    },
  }
}

/** Methods that both revisions share: they ask for records, and need no session. */
const SHARED = [
  method(ListResourcesRequestSchema, listResources),
  method(ListResourceTemplatesRequestSchema, listResourceTemplates),
  method(ReadResourceRequestSchema, readResource),
  method(CompleteRequestSchema, complete),
  method(ListPromptsRequestSchema, listPrompts),
  method(GetPromptRequestSchema, getPrompt),
  method(ListToolsRequestSchema, listTools),
  method(CallToolRequestSchema, callTool),
]

export const RECORD_METHODS: Readonly<Record<string, McpMethod>> = Object.fromEntries(
  SHARED.map(({ name, serve }) => [name, serve]),
)

async function setLevel(
  context: SessionContext,
  { level }: { readonly level: LogLevel },
): Promise<Result> {
  await context.registry.setLogLevel(context.session, level)
  return {}
}

/** Every method of a session, except `ping`, which the SDK's server answers itself. */
const SESSION_METHODS = [
  ...SHARED,
  method(SubscribeRequestSchema, subscribe),
  method(UnsubscribeRequestSchema, unsubscribe),
  // These two replace the SDK's own, which would keep one client and one level for all sessions (docs/decisions/0010).
  method(initializeRequest, async (context: SessionContext) => initializeResult(context)),
  method(SetLevelRequestSchema, setLevel),
]

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

/** Registers the methods of sessions with the SDK's server; `findCaller` says whose request a method serves. */
export const registerMethods =
  (services: McpServices & Pick<SessionContext, 'registry'>, onFailure: (error: unknown) => void) =>
  (server: Server, findCaller: (id: RequestId) => Caller): void => {
    for (const { name, register } of SESSION_METHODS)
      register(server, (id, serve) => {
        const { principal, session } = findCaller(id)
        const context = { ...services, session, principal, way: name }
        return runMethod(() => serve(context), onFailure)
      })
  }
