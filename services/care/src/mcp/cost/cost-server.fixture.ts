// A server process whose cost is measured: the same application, tokens, store and methods under our transport or the
// SDK's own, depending on its first argument. The parent asks for figures over IPC.
import { randomBytes } from 'node:crypto'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import {
  ReadResourceRequestSchema,
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
import { openSqliteSideRows } from '../../adapters/side-rows.ts'
import { openSqliteRecordStore } from '../../adapters/sqlite-record-store.ts'
import { openSessionStore } from '../../adapters/write-behind-sessions.ts'
import type { CareRecord, Principal } from '../../domain/care-record.ts'
import { checkBearer } from '../../routes/bearer.ts'
import { readRequestBody } from '../../routes/request-body.ts'
import { DEFAULT_MCP_LIMITS } from '../limits.ts'
import { createMcpEndpoint } from '../mcp-endpoint.ts'
import { readResource } from '../resource-methods.ts'
import { noticeMessage } from '../session-hub.ts'
import { CAPABILITIES, initializeResult } from '../session-server.ts'
import type { CallContext } from '../visible-records.ts'
import {
  COST_BASE_URL,
  COST_SECRET,
  COST_URI,
  type CostAnswer,
  type CostQuestion,
  type CostVariant,
} from './cost-terms.fixture.ts'

const clock = systemClock
const store = openSqliteRecordStore({
  databasePath: ':memory:',
  clock,
  checkpointSeed: new Uint8Array(32).fill(7),
  origin: 'cost.test/care',
})
const tokens = createTokenVerifier({
  keys: createTokenKeys([Buffer.from(COST_SECRET)]),
  audience: `${COST_BASE_URL}/mcp`,
  clock,
})
const bearer = { tokens, serviceName: 'care', metadataUrl: COST_BASE_URL }
const limits = { ...DEFAULT_MCP_LIMITS, sessionsPerSubMax: 20_000 }

/** What a read of our transport has, for the variants without it; nobody waits for a correction to be heard. */
const contextOf = (principal: Principal): CallContext => ({
  store,
  clock,
  serviceName: 'care',
  version: '0',
  limits,
  audio: undefined,
  verifyUrl: undefined,
  unheard: { heard: () => undefined },
  principal,
})

/** A variant, ready to be measured: its routes, and a write that notifies everyone. Returns how many frames were sent. */
type Variant = {
  readonly addRoutes: (app: ServiceApp) => void
  readonly tell: (record: CareRecord, previous: CareRecord | undefined) => Promise<number>
}

async function ours(): Promise<Variant> {
  const endpoint = await createMcpEndpoint({
    store,
    sessions: openSessionStore(openSqliteSideRows(':memory:')),
    tokens,
    modernTokens: tokens,
    clock,
    random: randomBytes,
    baseUrl: COST_BASE_URL,
    serviceName: 'care',
    version: '0',
    limits,
  })
  return {
    addRoutes: (app) => endpoint.addRoutes(app),
    tell: async (record, previous) => (await endpoint.hub.publish(record, previous)) * 2,
  }
}

type BytesHandler = (
  request: FastifyRequest,
  reply: FastifyReply,
  body: Uint8Array | undefined,
) => Promise<unknown>

/** Never reached: its route's hook has already answered. */
const handler = (): void => undefined

/** Takes requests over where our transport does, in the first hook, and reads bodies as it does. */
const addBytesRoute = (app: ServiceApp, handle: BytesHandler): void => {
  const onRequest = (request: FastifyRequest, reply: FastifyReply): void => {
    const run = async (): Promise<unknown> => {
      if (request.method !== 'POST') return handle(request, reply, undefined)
      const body = await readRequestBody(request.raw, limits.bodyBytesMax)
      return handle(request, reply, body === 'too-large' ? undefined : body)
    }
    run().catch((error: unknown) => void reply.send(error))
  }
  app.route({ url: '/mcp', method: ['POST', 'GET', 'DELETE'], onRequest, handler })
}

/** The application, token check, JSON and methods alone: no session, no protocol. */
function floor(): Variant {
  return {
    addRoutes(app) {
      addBytesRoute(app, async (request, reply, body) => {
        const check = await checkBearer(request.headers.authorization, bearer)
        if (check.kind === 'refused') throw new Error('token')
        const { id, method, params } = JSON.parse(Buffer.from(body ?? []).toString()) as {
          id?: number
          method: string
          params: unknown
        }
        const headers = { 'mcp-session-id': 'none', 'content-type': 'application/json' }
        if (id === undefined) {
          reply.hijack()
          return reply.raw.writeHead(202, headers).end()
        }
        const result =
          method === 'resources/read'
            ? await readResource(contextOf(check.claims), params)
            : initializeResult({ serviceName: 'care', version: '0' })
        const text = JSON.stringify({ jsonrpc: '2.0', id, result })
        // Not before: a read that fails after it would never be answered.
        reply.hijack()
        return reply.raw
          .writeHead(200, { ...headers, 'content-length': Buffer.byteLength(text) })
          .end(text)
      })
    },
    tell: async () => 0,
  }
}

/** What an application that follows the SDK's examples does: a Server and a transport for each session. */
function sdk(): Variant {
  type Held = { readonly server: Server; readonly transport: StreamableHTTPServerTransport }
  const held = new Map<string, Held>()
  const subscribed = new Set<Held>()
  const connect = async (principal: Principal): Promise<Held> => {
    const server = new Server(
      { name: 'care', version: '0' },
      { capabilities: CAPABILITIES, instructions: 'Read before you speak.' },
    )
    const context = contextOf(principal)
    server.setRequestHandler(ReadResourceRequestSchema, ({ params }) =>
      readResource(context, params),
    )
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomBytes(24).toString('base64url'),
      enableJsonResponse: true,
      onsessioninitialized: (id) => {
        held.set(id, one)
      },
    })
    const one = { server, transport }
    server.setRequestHandler(SubscribeRequestSchema, async () => {
      subscribed.add(one)
      return {}
    })
    await server.connect(transport)
    return one
  }
  return {
    addRoutes(app) {
      addBytesRoute(app, async (request, reply, body) => {
        const check = await checkBearer(request.headers.authorization, bearer)
        if (check.kind === 'refused') return reply.code(401).send()
        const id = request.headers['mcp-session-id']
        const known = typeof id === 'string' ? held.get(id) : undefined
        const { transport } = known ?? (await connect(check.claims))
        reply.hijack()
        const text = body === undefined ? undefined : Buffer.from(body).toString()
        const parsed: unknown = text === undefined ? undefined : JSON.parse(text)
        await transport.handleRequest(request.raw, reply.raw, parsed)
        return reply
      })
    },
    async tell(record, previous) {
      const { params } = noticeMessage({ serviceName: 'care', record, previous }) as {
        params: Parameters<Server['sendLoggingMessage']>[0]
      }
      for (const { server } of subscribed) {
        await server.sendResourceUpdated({ uri: COST_URI })
        await server.sendLoggingMessage(params)
      }
      return subscribed.size * 2
    },
  }
}

const write = async (variant: Variant): Promise<number> => {
  const slot = { patient: 'ann', domain: 'tea', audience: 'user' } as const
  const previous = await store.latest(slot)
  const outcome = await store.append({
    ...slot,
    value: 'No sugar, thank you; and a biscuit only on Sundays.',
    authorId: 'dr-osei',
    authorLabel: 'Dr Osei',
  })
  if (outcome.kind !== 'appended') throw new Error(outcome.kind)
  return variant.tell(outcome.record, previous.kind === 'found' ? previous.record : undefined)
}

const say = (answer: CostAnswer): void => {
  process.send?.(answer)
}

const VARIANTS: Readonly<Record<CostVariant, () => Variant | Promise<Variant>>> = {
  ours,
  sdk,
  floor,
}

async function main(name: CostVariant): Promise<void> {
  const variant = await VARIANTS[name]()
  const app = await createServiceApp({
    name: 'care',
    version: '0',
    description: 'measured',
    clock,
    cors: false,
    routes: (scope) => variant.addRoutes(scope),
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  await write(variant)
  const figures = (): void => {
    const { user, system } = process.cpuUsage()
    const { heapUsed, rss } = process.memoryUsage()
    say({ kind: 'figures', cpuMicros: user + system, heapBytes: heapUsed, rssBytes: rss })
  }
  process.on('message', (question: CostQuestion) => {
    if (question === 'stop') process.exit(0)
    if (question === 'fire')
      void write(variant).then((notifications) => say({ kind: 'fired', notifications }))
    if (question === 'collect') {
      // The thorough kind, which returns pages: what remains is really held.
      globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    }
    if (question !== 'fire') figures()
  })
  // Without a parent there is nobody to answer.
  process.on('disconnect', () => process.exit(0))
  say({ kind: 'listening', url: listeningUrl(app) })
}

await main(process.argv[2] as CostVariant)
