/**
 * `POST /mcp` (G10): the tools for agents that speak MCP, in both revisions and without sessions. A call of a tool is
 * answered at once as JSON; there is nothing to stream and nothing to resume.
 */
import type { ServiceApp } from '@tallystick/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { describedError } from '../routes/error-rows.ts'
import { neverStored } from '../routes/read-body.ts'
import { rpcMessageSchema, toolCallSchema } from '../wire/mcp.ts'
import { callGradingTool, GRADING_TOOLS, type GradingToolDeps } from './grading-tools.ts'
import {
  LEGACY,
  MODERN,
  type Revision,
  RPC,
  type RpcRefusal,
  type RpcRequest,
  readMessage,
  refusal,
} from './mcp-messages.ts'

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

type Answered =
  | { readonly result: object; readonly delivered?: (() => Promise<void>) | undefined }
  | { readonly refusal: RpcRefusal }

const unknownMethod = (revision: Revision): Answered => ({
  refusal: refusal(revision === MODERN ? 404 : 200, RPC.methodNotFound, {
    message: 'Method not found',
  }),
})

const invalidParams = (message: string): Answered => ({
  refusal: refusal(200, RPC.invalidParams, { message }),
})

/** What browsers on other sites may not call, by DNS rebinding or not: an origin is this host or this machine. */
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
    // The members as they came, since what they are is hashed.
    const call = request.params as z.output<typeof toolCallSchema>
    const caller = { address: from.ip, requestId: from.id }
    return (
      (await callGradingTool(toolDeps, call, caller)) ?? invalidParams(`Unknown tool: ${call.name}`)
    )
  }

  return {
    /** The result in the form of its revision. */
    dressed: (result: object, revision: Revision): object => {
      if (revision === LEGACY) return result
      const { _meta } = result as { readonly _meta?: object }
      const signed = { ..._meta, 'io.modelcontextprotocol/serverInfo': serverInfo }
      return { resultType: 'complete', ...result, _meta: signed }
    },
    async answer(request: RpcRequest, revision: Revision, from: FastifyRequest): Promise<Answered> {
      const isModern = revision === MODERN
      switch (request.method) {
        case 'tools/list':
          return { result: { tools: GRADING_TOOLS, ...(isModern && listed) } }
        case 'tools/call':
          return await callTool(request, from)
        case 'server/discover':
          if (!isModern) return unknownMethod(revision)
          return { result: { supportedVersions: [MODERN], ...about, ...listed } }
        case 'initialize':
          if (isModern) return unknownMethod(revision)
          return { result: { protocolVersion: LEGACY, serverInfo, ...about } }
        case 'ping':
          return isModern ? unknownMethod(revision) : { result: {} }
        default:
          return unknownMethod(revision)
      }
    },
  }
}

function send(
  reply: FastifyReply,
  { id, ...message }: { readonly id: string | number | null; readonly [member: string]: unknown },
): FastifyReply {
  return reply
    .type('application/json; charset=utf-8')
    .serializer(String)
    .send(JSON.stringify({ jsonrpc: '2.0', id, ...message }))
}

const sendRefusal = (
  reply: FastifyReply,
  { error, status }: RpcRefusal,
  id: string | number | null = null,
): FastifyReply => send(reply.code(status), { id, error })

export async function addMcpRoute(app: ServiceApp, deps: McpRouteDeps): Promise<void> {
  const methods = createMethods(deps)

  async function serve(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (!isOwnOrigin(request.headers.origin, deps.baseUrl))
      return sendRefusal(reply, refusal(403, RPC.badRequest, { message: 'Origin not allowed' }))
    const body = request.body instanceof Uint8Array ? request.body : new Uint8Array()
    const message = readMessage(body, request.headers)
    if (message.kind === 'refused') return sendRefusal(reply, message.refusal, message.id)
    if (message.kind === 'notification') return reply.code(202).send()
    const { id } = message.request
    try {
      const answered = await methods.answer(message.request, message.revision, request)
      if ('refusal' in answered) return sendRefusal(reply, answered.refusal, id)
      const { delivered, result } = answered
      if (delivered !== undefined)
        reply.raw.once('finish', () => {
          void delivered()
        })
      return send(reply, { id, result: methods.dressed(result, message.revision) })
    } catch (error) {
      request.log.error({ err: error }, 'a call of /mcp failed')
      return sendRefusal(reply, refusal(200, RPC.internalError, { message: 'Internal error' }), id)
    }
  }

  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser<Buffer>(
      'application/json',
      { parseAs: 'buffer' },
      (_request, body, done) => done(null, body),
    )
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
          413: describedError('The body is over the route’s limit.'),
          415: describedError('The body is declared as something other than JSON.'),
        },
      },
      validatorCompiler: () => () => true,
      serializerCompiler: () => JSON.stringify,
      handler: serve,
    })
  })
}
