// The baseline: what an application writes that follows the SDK's examples, a Server and a transport for each session, on
// the same Fastify application and behind the same token check. It keeps nothing on disk and reads from memory. `POST
// /tell` sends the notifications in its body to every subscriber; `POST /bare` answers without MCP.
import { randomUUID } from 'node:crypto'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import {
  ReadResourceRequestSchema,
  type ReadResourceResult,
  type ServerNotification,
  SubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { createTokenKeys, createTokenVerifier } from '@tallystick/jwt-lite'
import {
  createServiceApp,
  listeningUrl,
  type ServiceApp,
  systemClock,
} from '@tallystick/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { answerProbe } from './answer-probe.ts'
import { BENCH_BASE_URL, BENCH_TOKEN_SECRET } from './bench-protocol.ts'

type Held = { readonly server: Server; readonly transport: StreamableHTTPServerTransport }

/** What every read answers: the result that the care service gave, as its JSON in the first argument. */
const readResult = JSON.parse(process.argv[2] ?? '') as ReadResourceResult

const held = new Map<string, Held>()
const subscribed = new Set<Held>()
const tokens = createTokenVerifier({
  keys: createTokenKeys([Buffer.from(BENCH_TOKEN_SECRET)]),
  audience: `${BENCH_BASE_URL}/mcp`,
  clock: systemClock,
})

async function connect(): Promise<Held> {
  const server = new Server(
    { name: 'baseline', version: '0' },
    {
      capabilities: { resources: { subscribe: true, listChanged: true }, logging: {} },
      instructions:
        'Read a record right before you speak it. Subscribe to each that you have spoken.',
    },
  )
  server.setRequestHandler(ReadResourceRequestSchema, () => readResult)
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true,
    onsessioninitialized: (id) => void held.set(id, one),
  })
  const one = { server, transport }
  server.setRequestHandler(SubscribeRequestSchema, () => {
    subscribed.add(one)
    return {}
  })
  await server.connect(transport)
  return one
}

const isAdmitted = ({ headers }: FastifyRequest): boolean => {
  const token = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? ''
  return tokens.verify(token).kind === 'valid'
}

const messageOf = ({ body }: FastifyRequest): unknown =>
  body instanceof Uint8Array ? JSON.parse(Buffer.from(body).toString()) : undefined

async function handleMcp(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  if (!isAdmitted(request)) return reply.code(401).send()
  const id = request.headers['mcp-session-id']
  const { transport } = (typeof id === 'string' ? held.get(id) : undefined) ?? (await connect())
  reply.hijack()
  await transport.handleRequest(request.raw, reply.raw, messageOf(request))
  return reply
}

/** The floor under both: the application, the token check, the message parsed, and an empty result. */
function handleBare(request: FastifyRequest, reply: FastifyReply): void {
  if (!isAdmitted(request)) return void reply.code(401).send()
  const { id } = messageOf(request) as { readonly id: unknown }
  return void reply.send({ jsonrpc: '2.0', id, result: {} })
}

async function handleTell(request: FastifyRequest): Promise<{ readonly subscribers: number }> {
  const messages = messageOf(request) as ServerNotification[]
  for (const { server } of subscribed)
    for (const message of messages) await server.notification(message)
  return { subscribers: subscribed.size }
}

function addRoutes(app: ServiceApp): void {
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
      done(null, body)
    })
    scope.route({ url: '/mcp', method: ['POST', 'GET', 'DELETE'], handler: handleMcp })
    scope.post('/tell', handleTell)
    scope.post('/bare', handleBare)
  })
}

const app = await createServiceApp({
  name: 'baseline',
  version: '0',
  description: "The SDK's own transport.",
  clock: systemClock,
  cors: false,
  routes: addRoutes,
})
await app.listen({ host: '127.0.0.1', port: 0 })
answerProbe({ url: listeningUrl(app), stop: async () => undefined })
