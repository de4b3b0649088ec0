/**
 * `POST /mcp` (G10): the tools for agents that speak MCP, in both revisions and without sessions. A call of a tool is
 * answered at once as JSON; there is nothing to stream and nothing to resume.
 */
import type { ServiceApp } from '@tallystick/service-kit'
import {
  completeResult,
  isModern,
  LEGACY_REVISIONS,
  MODERN_REVISION,
  modernFault,
  parseMessage,
  RPC_CODES,
  type RpcRefusal,
  type RpcRequest,
  rpcRefusal,
} from '@tallystick/service-kit/mcp'
import type { ToolResult } from '@tallystick/x402/mcp'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { bodyErrorRows } from '../routes/error-rows.ts'
import { isCrowded, isOversized, neverStored, sendJson, takeBytes } from '../routes/read-body.ts'
import { rpcMessageSchema, toolCallSchema } from '../wire/mcp.ts'
import { callGradingTool, GRADING_TOOLS, type GradingToolDeps } from './grading-tools.ts'

type McpRouteDeps = Omit<GradingToolDeps, 'endpoint'> & {
  readonly baseUrl: string
  readonly version: string
}

/** The longest audit, and its envelope. */
const MCP_BODY_BYTES_MAX = 1_048_576

/** Tools change with a new version of the service alone; everyone sees the same. */
const LIST_KEPT_MS = 300_000

const INSTRUCTIONS =
  'Grades bets against the recorded closing line instead of the score. Ask coverage first, which is free: a bet without a recorded close is UNGRADED, and paid for. grade_pick and audit_picks cost money, paid by x402: call them, pay what the result asks for, and repeat the call unchanged with the payment in _meta["x402/payment"]. On payment_pending repeat it with the same payment; never sign another one.'

/** The only older revision that is answered. */
const LEGACY = LEGACY_REVISIONS.at(-1)

type Answered =
  | { readonly result: object; readonly delivered?: (() => Promise<void>) | undefined }
  | { readonly refusal: RpcRefusal }

const invalidParams = (message: string): Answered => ({
  refusal: rpcRefusal(200, RPC_CODES.invalidParams, { message }),
})

const FOREIGN_ORIGIN = rpcRefusal(403, RPC_CODES.badRequest, { message: 'Origin not allowed' })
const NOT_JSON = rpcRefusal(400, RPC_CODES.parseError, { message: 'Parse error' })
const NO_REQUEST = rpcRefusal(400, RPC_CODES.invalidRequest, { message: 'Invalid Request' })
const CROWDED = rpcRefusal(400, RPC_CODES.invalidRequest, {
  message: 'Invalid Request: too many members',
})
const FAILED = rpcRefusal(200, RPC_CODES.internalError, { message: 'Internal error' })

/** Browsers on other sites may not call, not even by DNS rebinding: an origin must be this host or this machine. */
function isOwnOrigin(origin: string | undefined, baseUrl: string): boolean {
  if (origin === undefined) return true
  const hostname = URL.parse(origin)?.hostname
  const own = new URL(baseUrl).hostname
  return hostname !== undefined && [own, 'localhost', '127.0.0.1', '[::1]'].includes(hostname)
}

function createMethods(deps: McpRouteDeps) {
  const { baseUrl, version } = deps
  const toolDeps: GradingToolDeps = { ...deps, endpoint: `${baseUrl}/mcp` }
  const serverInfo = { name: 'tallystick-grading', version }
  const about = { capabilities: { tools: {} }, instructions: INSTRUCTIONS }
  const listed = { ttlMs: LIST_KEPT_MS, cacheScope: 'public' }

  async function callTool(request: RpcRequest, from: FastifyRequest): Promise<Answered> {
    const parsed = toolCallSchema.safeParse(request.params)
    if (!parsed.success) return invalidParams('params: a tool’s name, and an object of arguments')
    // The members as received, because they are hashed.
    const call = request.params as z.output<typeof toolCallSchema>
    const bytes = Number(from.headers['content-length'] ?? MCP_BODY_BYTES_MAX)
    const caller = { address: from.ip, bytes, requestId: from.id }
    return (
      (await callGradingTool(toolDeps, call, caller)) ?? invalidParams(`Unknown tool: ${call.name}`)
    )
  }

  return {
    /** The result in its revision's form. */
    dressed: (result: object, isOfModern: boolean): object =>
      isOfModern ? completeResult(result, serverInfo) : result,
    async answer(
      request: RpcRequest,
      isOfModern: boolean,
      from: FastifyRequest,
    ): Promise<Answered> {
      const { method } = request
      if (method === 'tools/list')
        return { result: { tools: GRADING_TOOLS, ...(isOfModern && listed) } }
      if (method === 'tools/call') return await callTool(request, from)
      if (isOfModern && method === 'server/discover')
        return { result: { supportedVersions: [MODERN_REVISION], ...about, ...listed } }
      if (!isOfModern && method === 'initialize')
        return { result: { protocolVersion: LEGACY, serverInfo, ...about } }
      if (!isOfModern && method === 'ping') return { result: {} }
      const unknown = { message: 'Method not found' }
      return { refusal: rpcRefusal(isOfModern ? 404 : 200, RPC_CODES.methodNotFound, unknown) }
    },
  }
}

const sendRefusal = (
  reply: FastifyReply,
  { error, status }: RpcRefusal,
  id: string | number | null = null,
): FastifyReply => sendJson(reply.code(status), JSON.stringify({ jsonrpc: '2.0', id, error }))

/**
 * A message with a result. A tool's text is the JSON of its value, which is written from the text: parsing an audit's 1.4 MB
 * and writing them again would take 10 ms.
 */
function messageText(id: string | number | null, result: object): string {
  const text = JSON.stringify({ jsonrpc: '2.0', id, result })
  if (!('content' in result) || 'structuredContent' in result) return text
  const [said] = (result as ToolResult).content
  return `${text.slice(0, -2)},"structuredContent":${said?.text}}}`
}

export async function addMcpRoute(app: ServiceApp, deps: McpRouteDeps): Promise<void> {
  const methods = createMethods(deps)

  async function serve(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (!isOwnOrigin(request.headers.origin, deps.baseUrl))
      return sendRefusal(reply, FOREIGN_ORIGIN)
    const body = request.body instanceof Uint8Array ? request.body : new Uint8Array()
    if (isCrowded(body)) return sendRefusal(reply, CROWDED)
    const posted = parseMessage(body)
    if (posted.kind === 'not-json') return sendRefusal(reply, NOT_JSON)
    if (posted.kind === 'notification') return reply.code(202).send()
    if (posted.kind !== 'request') return sendRefusal(reply, NO_REQUEST)
    const { id, message } = posted
    const { arguments: given, _meta: meta } = message.params ?? {}
    if (isOversized(given) || isOversized(meta)) return sendRefusal(reply, CROWDED, id)
    const isOfModern = isModern(message, request.headers)
    const fault = isOfModern ? modernFault(message, request.headers) : undefined
    if (fault !== undefined) return sendRefusal(reply, fault, id)
    try {
      const answered = await methods.answer(message, isOfModern, request)
      if ('refusal' in answered) return sendRefusal(reply, answered.refusal, id)
      const { delivered, result } = answered
      if (delivered !== undefined)
        reply.raw.once('finish', () => {
          void delivered()
        })
      return sendJson(reply, messageText(id, methods.dressed(result, isOfModern)))
    } catch (error) {
      request.log.error({ err: error }, 'a call of /mcp failed')
      return sendRefusal(reply, FAILED, id)
    }
  }

  await app.register(async (scope) => {
    takeBytes(scope)
    scope.route({
      method: 'POST',
      url: '/mcp',
      bodyLimit: MCP_BODY_BYTES_MAX,
      onRequest: neverStored,
      schema: {
        tags: ['mcp'],
        summary: 'The same for agents that speak MCP: five tools, two of them paid by x402.',
        description:
          'Model Context Protocol 2025-11-25 and 2026-07-28 over Streamable HTTP, without sessions: one JSON-RPC message a request. Free: coverage, calibration, read_pick. Paid: grade_pick $0.01, audit_picks $0.20. An unpaid call of these answers the x402 challenge as structuredContent, as text and in _meta["x402/error"]; the payment goes into _meta["x402/payment"] of the same call, as an object or as base64, and buys this tool with these arguments.',
        body: rpcMessageSchema,
        response: {
          200: z.looseObject({ jsonrpc: z.literal('2.0') }).describe('The JSON-RPC answer.'),
          202: z.null().describe('A notification, which has no answer.'),
          400: z.looseObject({}).describe('No JSON-RPC request, or of a revision not served.'),
          403: z.looseObject({}).describe('A page of another site calls.'),
          ...bodyErrorRows,
        },
      },
      validatorCompiler: () => () => true,
      serializerCompiler: () => JSON.stringify,
      handler: serve,
    })
  })
}
