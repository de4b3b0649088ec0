/**
 * `POST /mcp` (G10): the tools for agents that speak MCP, in both revisions and without sessions. The SDK's own server and
 * transport answer (grading-server.ts). This file has what comes before them: whose page calls, how much a body may hold, and
 * what SDK 1.x does not speak of 2026-07-28, its envelope and its unknown methods.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { ServiceApp } from '@tallystick/service-kit'
import {
  isModern,
  modernFault,
  parseMessage,
  RPC_CODES,
  type RpcRefusal,
  type RpcRequest,
  rpcRefusal,
  withoutTask,
} from '@tallystick/service-kit/mcp'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { bodyErrorRows } from '../routes/error-rows.ts'
import { isCrowded, isOversized, neverStored, sendJson, takeBytes } from '../routes/read-body.ts'
import { rpcMessageSchema } from '../wire/mcp.ts'
import {
  createGradingServer,
  type GradingServerDeps,
  MODERN_METHODS,
  StatelessTransport,
} from './grading-server.ts'

type McpRouteDeps = Omit<GradingServerDeps, 'endpoint'> & { readonly baseUrl: string }

/** The longest audit, and its envelope. */
const MCP_BODY_BYTES_MAX = 1_048_576

const FOREIGN_ORIGIN = rpcRefusal(403, RPC_CODES.badRequest, { message: 'Origin not allowed' })
const NOT_JSON = rpcRefusal(400, RPC_CODES.parseError, { message: 'Parse error' })
const NO_REQUEST = rpcRefusal(400, RPC_CODES.invalidRequest, { message: 'Invalid Request' })
const CROWDED = rpcRefusal(400, RPC_CODES.invalidRequest, {
  message: 'Invalid Request: too many members',
})
const UNKNOWN_METHOD = rpcRefusal(404, RPC_CODES.methodNotFound, { message: 'Method not found' })

/** What SDK 1.x does not know: the faults of an envelope, and the methods that 2026-07-28 does not have. */
const modernRefusal = (request: RpcRequest, headers: IncomingHttpHeaders): RpcRefusal | undefined =>
  modernFault(request, headers) ?? (MODERN_METHODS.has(request.method) ? undefined : UNKNOWN_METHOD)

/** Browsers on other sites may not call, not even by DNS rebinding: an origin must be this host or this machine. */
function isOwnOrigin(origin: string | undefined, baseUrl: string): boolean {
  if (origin === undefined) return true
  const hostname = URL.parse(origin)?.hostname
  const own = new URL(baseUrl).hostname
  return hostname !== undefined && [own, 'localhost', '127.0.0.1', '[::1]'].includes(hostname)
}

const sendRefusal = (
  reply: FastifyReply,
  { error, status }: RpcRefusal,
  id: string | number | null = null,
): FastifyReply => sendJson(reply.code(status), JSON.stringify({ jsonrpc: '2.0', id, error }))

/** Whether a message holds more than the longest audit and its payment, each by itself. */
function isTooLarge({
  arguments: callArguments,
  _meta: meta,
  ...others
}: object & Params): boolean {
  return [callArguments, meta, others].some(isOversized)
}
type Params = { readonly arguments?: unknown; readonly _meta?: unknown }

/** The SDK answers any client as JSON, whatever it accepts; the header of a revision was checked before. */
const HEADERS = {
  accept: 'application/json, text/event-stream',
  'content-type': 'application/json',
} as const

export async function addMcpRoute(app: ServiceApp, deps: McpRouteDeps): Promise<void> {
  const endpoint = `${deps.baseUrl}/mcp`

  async function serve(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (!isOwnOrigin(request.headers.origin, deps.baseUrl))
      return sendRefusal(reply, FOREIGN_ORIGIN)
    const body = request.body instanceof Uint8Array ? request.body : new Uint8Array()
    if (isCrowded(body)) return sendRefusal(reply, CROWDED)
    const posted = parseMessage(body)
    if (posted.kind === 'not-json') return sendRefusal(reply, NOT_JSON)
    if (posted.kind === 'invalid' || posted.kind === 'response')
      return sendRefusal(reply, NO_REQUEST)
    const { kind, message } = posted
    const id = kind === 'request' ? posted.id : null
    if (isTooLarge(message.params ?? {})) return sendRefusal(reply, CROWDED, id)
    const isOfModern = kind === 'request' && isModern(posted.message, request.headers)
    const fault = isOfModern ? modernRefusal(posted.message, request.headers) : undefined
    if (fault !== undefined) return sendRefusal(reply, fault, id)
    const transport = new StatelessTransport()
    const server = createGradingServer(
      { ...deps, endpoint },
      {
        message,
        isOfModern,
        caller: {
          address: request.ip,
          bytes: Number(request.headers['content-length'] ?? MCP_BODY_BYTES_MAX),
          requestId: request.id,
        },
        onSold: (deliver) =>
          void reply.raw.once('finish', () => {
            // An answer that could not be sent finishes with another status (X9).
            if (reply.raw.statusCode === 200) void deliver()
          }),
        onFailure: (error) => request.log.error({ err: error }, 'a call of /mcp failed'),
      },
    )
    await server.connect(transport)
    const asking = new Request(endpoint, { method: 'POST', headers: HEADERS })
    const answer = await transport.handleRequest(asking, { parsedBody: withoutTask(message) })
    reply.code(answer.status)
    if (answer.status === 202) return reply.send()
    // As the SDK has made them: an audit's answer is some megabytes of UTF-8.
    return sendJson(reply, Buffer.from(await answer.arrayBuffer()))
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
