/**
 * The MCP server of one request (G10): the SDK dispatches, checks and answers; the tools are in grading-tools.ts. Without
 * sessions nothing outlives a request, so the SDK wants a server and a transport for each.
 */
import { setImmediate as nextIteration } from 'node:timers/promises'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import {
  type CallToolRequestParams,
  CallToolRequestSchema,
  InitializeRequestSchema,
  type JSONRPCMessage,
  ListToolsRequestSchema,
  type RequestId,
  type Result,
} from '@modelcontextprotocol/sdk/types.js'
import {
  completeResult,
  LEGACY_REVISIONS,
  MODERN_REVISION,
  NO_VALIDATOR,
  RPC_CODES,
  RpcFailure,
  withInvalidParams,
} from '@tallystick/service-kit/mcp'
import type { ToolResult } from '@tallystick/x402/mcp'
import { discoverRequest } from '../wire/mcp.ts'
import {
  callGradingTool,
  GRADING_TOOLS,
  type GradingToolDeps,
  type ToolCaller,
} from './grading-tools.ts'

/** Tools change with a new version of the service alone; everyone sees the same. */
const LISTED = { ttlMs: 300_000, cacheScope: 'public' } as const

const ABOUT = {
  capabilities: { tools: {} },
  instructions:
    'Grades bets against the recorded closing line instead of the score. Ask coverage first, which is free: a bet without a recorded close is UNGRADED, and paid for. grade_pick and audit_picks cost money, paid by x402: call them, pay what the result asks for, and repeat the call unchanged with the payment in _meta["x402/payment"]. On payment_pending repeat it with the same payment; never sign another one.',
} as const

/** What SDK 1.x does not know of 2026-07-28: which methods it has. */
export const MODERN_METHODS: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'tools/call',
])

/** The message of one request. */
type McpCall = {
  readonly message: { readonly params?: object }
  readonly isOfModern: boolean
  readonly caller: ToolCaller
  /** Takes what to call once the answer has left. */
  readonly onSold: (deliver: () => Promise<void>) => void
  readonly onFailure: (error: unknown) => void
}

export type GradingServerDeps = GradingToolDeps & { readonly version: string }

export function createGradingServer(deps: GradingServerDeps, call: McpCall): Server {
  const { isOfModern } = call
  const serverInfo = { name: 'tallystick-grading', version: deps.version }
  const server = new Server(serverInfo, { ...ABOUT, jsonSchemaValidator: NO_VALIDATOR })
  /** The result in its revision's form. */
  const dress = (result: object): Result =>
    (isOfModern ? completeResult(result, serverInfo) : result) as Result
  const listed = isOfModern ? LISTED : {}
  // The SDK would negotiate older revisions too, and with them batches.
  server.setRequestHandler(InitializeRequestSchema, () => ({
    protocolVersion: LEGACY_REVISIONS.at(-1),
    serverInfo,
    ...ABOUT,
  }))
  server.setRequestHandler(discoverRequest, () =>
    dress({ supportedVersions: [MODERN_REVISION], ...ABOUT, ...LISTED }),
  )
  if (!isOfModern) server.removeRequestHandler('server/discover')
  server.setRequestHandler(ListToolsRequestSchema, () => dress({ tools: GRADING_TOOLS, ...listed }))
  server.setRequestHandler(CallToolRequestSchema, async () => dress(await runTool(deps, call)))
  return server
}

/** Calls a tool. What fails is reported, and answered without its text. */
async function runTool(deps: GradingServerDeps, call: McpCall): Promise<ToolResult> {
  const { caller, message, onFailure, onSold } = call
  // The members as received, because they are hashed: the SDK's schema, which has accepted them, makes others.
  const toolCall = message.params as CallToolRequestParams
  const called = await callGradingTool(deps, toolCall, caller).catch((error: unknown) => {
    onFailure(error)
    throw new RpcFailure(RPC_CODES.internalError, 'Internal error')
  })
  if (called === undefined)
    throw new RpcFailure(RPC_CODES.invalidParams, `Unknown tool: ${toolCall.name}`)
  const { delivered, result } = called
  if (delivered !== undefined) onSold(delivered)
  const [said] = result.content
  if (result.structuredContent !== undefined || said === undefined) return result
  // An audit's 1.4 MB take 10 ms each way, and the SDK writes them at once: both have an iteration of their own.
  await nextIteration()
  const structuredContent = JSON.parse(said.text) as object
  await nextIteration()
  return { ...result, structuredContent }
}

/** The SDK's transport, which answers a request as JSON and keeps nothing. */
export class StatelessTransport extends WebStandardStreamableHTTPServerTransport {
  constructor() {
    super({ enableJsonResponse: true })
  }

  override async send(
    message: JSONRPCMessage,
    options?: { relatedRequestId?: RequestId },
  ): Promise<void> {
    await super.send('error' in message ? withInvalidParams(message) : message, options)
  }
}
