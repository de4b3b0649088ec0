// The baseline: an application modelled on the SDK's examples, with a Server and a transport per session. Everything else
// is the service's own: the same Fastify application, hook, body reader, token check, record store on disk and rendering
// of a record. It stores no session and no frame. `POST /tell` appends a version and notifies every subscriber; `/bare`
// answers the same messages without transport, session or server.
import { randomUUID } from 'node:crypto'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import {
  type ReadResourceRequestParams,
  ReadResourceRequestSchema,
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
import { readRequestBody } from '../../../packages/service-kit/src/bounded.ts'
import { openSqliteRecordStore } from '../../../services/care/src/adapters/records/sqlite-record-store.ts'
import { readResource } from '../../../services/care/src/mcp/methods/resource-methods.ts'
import { createChangeCursors } from '../../../services/care/src/mcp/records/change-cursors.ts'
import { RecordIndex } from '../../../services/care/src/mcp/records/record-index.ts'
import type { CallContext } from '../../../services/care/src/mcp/records/visible-records.ts'
import { noticeMessage, updatedMessage } from '../../../services/care/src/mcp/sessions/frames.ts'
import { DEFAULT_MCP_LIMITS } from '../../../services/care/src/mcp/sessions/limits.ts'
import {
  CAPABILITIES,
  initializeResult,
} from '../../../services/care/src/mcp/sessions/session-server.ts'
import { checkBearer } from '../../../services/care/src/routes/bearer.ts'
import { careCors } from '../../../services/care/src/routes/service-routes.ts'
import { answerProbe } from './answer-probe.ts'
import { BENCH_BASE_URL, BENCH_TOKEN_SECRET } from './bench-protocol.ts'

type Held = { readonly server: Server; readonly transport: StreamableHTTPServerTransport }
type Message = { readonly id?: number; readonly method: string; readonly params?: unknown }

const NAMES = { serviceName: 'care', version: '0' }
const BODY_BYTES_MAX = 262_144

const store = await openSqliteRecordStore({
  databasePath: process.argv[2] ?? '',
  clock: systemClock,
  checkpointSeed: Buffer.alloc(32, 7),
  origin: 'localhost:3002/care',
})
const sessions = new Map<string, Held>()
const subscribed = new Set<Held>()
const bearer = {
  tokens: createTokenVerifier({
    keys: createTokenKeys([Buffer.from(BENCH_TOKEN_SECRET)]),
    audience: `${BENCH_BASE_URL}/mcp`,
    clock: systemClock,
  }),
  serviceName: NAMES.serviceName,
  metadataUrl: BENCH_BASE_URL,
}

/** What reading a record needs from the service; all sessions have one scope. */
const context: CallContext = {
  ...NAMES,
  store,
  clock: systemClock,
  audio: undefined,
  limits: DEFAULT_MCP_LIMITS,
  verifyUrl: undefined,
  unheard: { heard: () => undefined },
  recordIndex: new RecordIndex({
    store,
    clock: systemClock,
    chainsMax: DEFAULT_MCP_LIMITS.searchChainsMax,
  }),
  changeCursors: createChangeCursors(Buffer.alloc(32)),
  principal: { sub: 'bench', scopes: ['care.read.user'] },
}

async function connect(): Promise<Held> {
  const server = new Server(
    { name: 'baseline', version: NAMES.version },
    { capabilities: CAPABILITIES, instructions: String(initializeResult(NAMES)['instructions']) },
  )
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => readResource(context, params))
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true,
    onsessioninitialized: (id) => void sessions.set(id, session),
  })
  const session = { server, transport }
  server.setRequestHandler(SubscribeRequestSchema, () => {
    subscribed.add(session)
    return {}
  })
  await server.connect(transport)
  return session
}

async function handOver(
  { raw, headers }: FastifyRequest,
  reply: FastifyReply,
  message: Message | undefined,
): Promise<void> {
  const id = headers['mcp-session-id']
  const { transport } = (typeof id === 'string' ? sessions.get(id) : undefined) ?? (await connect())
  reply.hijack()
  await transport.handleRequest(raw, reply.raw, message)
}

async function makeResult({ method, params }: Message): Promise<unknown> {
  if (method === 'resources/read') return readResource(context, params as ReadResourceRequestParams)
  return method === 'initialize' ? initializeResult(NAMES) : {}
}

/** The floor for both transports: the same request, answered by its method alone. */
async function answerBare(
  request: FastifyRequest,
  reply: FastifyReply,
  message: Message | undefined,
): Promise<void> {
  if (message === undefined) throw new Error('a message is posted')
  const { id } = message
  const text =
    id === undefined
      ? ''
      : JSON.stringify({ result: await makeResult(message), jsonrpc: '2.0', id })
  reply.hijack()
  reply.raw.writeHead(id === undefined ? 202 : 200, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(text),
    'mcp-session-id': 'none',
    'x-content-type-options': 'nosniff',
    'x-request-id': request.id,
  })
  reply.raw.end(text)
}

/** Appends a version and notifies every subscriber, as an accepted write does. */
async function tell(): Promise<void> {
  const outcome = await store.append({
    patient: 'ann',
    domain: 'tea',
    audience: 'user',
    value: 'No sugar, thank you; and a biscuit only on Sundays.',
    authorId: 'dr-osei',
    authorLabel: 'Dr Osei',
  })
  if (outcome.kind !== 'appended') throw new Error(outcome.kind)
  const { record } = outcome
  const before = await store.version(record, record.version - 1)
  const previous = before.kind === 'found' ? before.record : undefined
  const messages = [
    updatedMessage(record),
    noticeMessage({ serviceName: NAMES.serviceName, record, previous }),
  ] as ServerNotification[]
  for (const { server } of subscribed)
    for (const message of messages) await server.notification(message)
}

type Answer = (
  request: FastifyRequest,
  reply: FastifyReply,
  message: Message | undefined,
) => Promise<void>

/** Takes over a request where the service does: in the first hook, with the service's own body reader. */
const takingOver =
  (answer: Answer) =>
  (request: FastifyRequest, reply: FastifyReply): void => {
    const fail = (error: unknown): void => void reply.send(error)
    const take = async (): Promise<void> => {
      const check = await checkBearer(request.headers.authorization, bearer)
      if (check.kind === 'refused') return void reply.code(401).send()
      if (request.method !== 'POST') return answer(request, reply, undefined)
      const body = await readRequestBody(request.raw, BODY_BYTES_MAX)
      return answer(request, reply, JSON.parse(Buffer.from(body).toString()) as Message)
    }
    take().catch(fail)
  }

/** Its route's hook has answered. */
const handler = (): void => undefined

function addRoutes(app: ServiceApp): void {
  app.route({
    url: '/mcp',
    method: ['POST', 'GET', 'DELETE'],
    onRequest: takingOver(handOver),
    handler,
  })
  app.route({ url: '/bare', method: 'POST', onRequest: takingOver(answerBare), handler })
  app.post('/tell', async () => {
    await tell()
    return {}
  })
}

await tell()
const app = await createServiceApp({
  name: 'baseline',
  version: NAMES.version,
  description: "The SDK's own transport.",
  clock: systemClock,
  cors: careCors(NAMES.serviceName),
  routes: addRoutes,
})
await app.listen({ host: '127.0.0.1', port: 0 })
answerProbe({ url: listeningUrl(app), stop: async () => store.close() })
