// The MCP side alone, listening on a free loopback port, over in-memory stores and a clock that tests move; for tests of
// everything under /mcp. Requests go over real HTTP.
import { randomBytes } from 'node:crypto'
import { createTokenKeys, createTokenVerifier, mintToken } from '@tallystick/jwt-lite'
import {
  createServiceApp,
  listeningUrl,
  type ManualClock,
  manualClock,
  type ServiceApp,
} from '@tallystick/service-kit'
import type { Stores } from '../adapters/open-stores.ts'
import type { CareRecord, NewRecord } from '../domain/care-record.ts'
import type { RecordStore } from '../domain/record-store.ts'
import type { SessionStore } from '../domain/session-store.ts'
import { careCors } from '../routes/service-routes.ts'
import { makeStorePlace, openStoresAt } from '../testing/store-place.fixture.ts'
import type { ChainSlot } from '../wire/record-uri.ts'
import {
  createMcpEndpoint,
  type McpEndpoint,
  type McpEndpointDeps,
  type McpEvent,
} from './mcp-endpoint.ts'
import { EventReader } from './sessions/event-reader.fixture.ts'

/** 2026-11-21T12:00:00Z. */
export const START_MS = Date.UTC(2026, 10, 21, 12)
export const BASE_URL = 'http://care.test'
export const MODERN_AUDIENCE = `${BASE_URL}/mcp/2026-07-28`
export const USER = 'care.read.user'
export const ASSISTANT = 'care.read.assistant'
export const BOTH = `${USER} ${ASSISTANT}`

const KEYS = createTokenKeys([Buffer.from('token-secret-for-tests-0123456789abcdef')])

type RpcAnswer = {
  readonly jsonrpc: string
  readonly id: unknown
  readonly result?: Record<string, unknown>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

type HttpAnswer = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; {} if there is none. */
  readonly body: RpcAnswer & { readonly error_description?: string }
}

type TokenOverrides = {
  readonly sub?: string
  readonly lifetimeSeconds?: number
  readonly audience?: string
}

type RequestOptions = {
  readonly token?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

/** A session as a client holds it. */
export type ClientSession = {
  readonly id: string
  token: string
  /** Sends a request and returns its JSON-RPC answer. */
  call(method: string, params?: object): Promise<RpcAnswer>
  /** The answer's result; throws on an error. */
  result(method: string, params?: object): Promise<Record<string, unknown>>
  subscribe(uri: string): Promise<RpcAnswer>
  /** Opens the event stream; it is open when this resolves. */
  stream(lastEventId?: string): Promise<EventReader>
  end(): Promise<HttpAnswer>
}

export type McpFixture = {
  readonly url: string
  readonly clock: ManualClock
  readonly store: RecordStore
  readonly sessions: SessionStore
  readonly events: McpEvent[]
  readonly endpoint: McpEndpoint
  token(scope: string, over?: TokenOverrides): string
  request(method: string, options?: RequestOptions): Promise<HttpAnswer>
  /** Initializes a session with these scopes. */
  open(scope: string, over?: TokenOverrides): Promise<ClientSession>
  /** The same open session under another token. */
  with(id: string, token: string): ClientSession
  /** Appends and publishes, as an accepted write does; returns how many were subscribed. */
  write(record: Partial<NewRecord>): Promise<{ record: CareRecord; subscribers: number }>
  /** Changes a stored entry behind the store's back. */
  tamper(slot: ChainSlot, version: number, change: (entry: string) => string): Promise<void>
  /** Stops the process and starts another on what it stored. */
  restart(): Promise<void>
  /** Throws if anything is left running. */
  close(): Promise<void>
}

export const initializeBody = (protocolVersion = '2025-11-25'): object => ({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
})

async function readAnswer(response: Response): Promise<HttpAnswer> {
  const text = await response.text()
  let body = {} as HttpAnswer['body']
  try {
    body = JSON.parse(text) as HttpAnswer['body']
  } catch {
    // An event stream, or no body; tests of those look at the text.
  }
  return { status: response.status, headers: response.headers, text, body }
}

export type McpFixtureOptions = Partial<McpEndpointDeps> & {
  /** Records in a temporary folder, where `tamper` can reach them; otherwise in memory. */
  readonly isOnDisk?: boolean
}

/** The process: stores, endpoint and application; it can be stopped and restarted on what it stored. */
class McpProcess {
  readonly clock: ManualClock
  readonly stores: Stores
  readonly store: RecordStore
  readonly sessions: SessionStore
  readonly events: McpEvent[] = []
  readonly #options: McpFixtureOptions
  #app: ServiceApp | undefined
  endpoint: McpEndpoint | undefined
  port = 0

  constructor(
    options: McpFixtureOptions,
    on: { readonly clock: ManualClock; readonly stores: Stores },
  ) {
    this.#options = options
    this.clock = on.clock
    this.stores = on.stores
    this.store = on.stores.records
    this.sessions = options.sessions ?? on.stores.sessions
  }

  async start(): Promise<McpEndpoint> {
    const { clock, store, sessions, events } = this
    const endpoint = await createMcpEndpoint({
      store,
      clock,
      random: (size) => randomBytes(size),
      chance: () => 0.5,
      tokens: createTokenVerifier({ keys: KEYS, audience: `${BASE_URL}/mcp`, clock }),
      modernTokens: createTokenVerifier({ keys: KEYS, audience: MODERN_AUDIENCE, clock }),
      baseUrl: BASE_URL,
      verifyUrl: `${BASE_URL}/verify`,
      serviceName: 'care',
      version: '0.0.0',
      observe: (event) => events.push(event),
      ...this.#options,
      sessions,
    })
    const app = await createServiceApp({
      name: 'care',
      version: '0.0.0',
      description: 'test',
      clock,
      cors: careCors('care'),
      routes(scope) {
        endpoint.addRoutes(scope)
      },
    })
    await app.listen({ host: '127.0.0.1', port: this.port })
    this.#app = app
    this.port = Number(new URL(listeningUrl(app)).port)
    this.endpoint = endpoint
    return endpoint
  }

  async stop(): Promise<void> {
    await this.#app?.close()
    await this.endpoint?.close()
  }

  token(scope: string, over: TokenOverrides = {}): string {
    return mintToken({
      sub: 'host',
      audience: `${BASE_URL}/mcp`,
      typ: 'care+jwt',
      nowSeconds: this.clock.unixMs() / 1000,
      key: KEYS,
      jti: randomBytes(8).toString('hex'),
      ...over,
      scope,
    })
  }

  async request(method: string, options: RequestOptions = {}): Promise<HttpAnswer> {
    const { token, headers, body } = options
    const bearer = token === undefined ? {} : { authorization: `Bearer ${token}` }
    return readAnswer(
      await fetch(`http://127.0.0.1:${this.port}/mcp`, {
        method,
        // A restart closes kept connections, which the client may notice only at its next request.
        headers: { connection: 'close', ...bearer, ...headers },
        ...(body === undefined ? {} : { body: body as string }),
      }),
    )
  }

  /** Appends and publishes, as an accepted write does. */
  async write(over: Partial<NewRecord>): Promise<{ record: CareRecord; subscribers: number }> {
    const outcome = await this.store.append({
      patient: 'ann',
      domain: 'medication',
      audience: 'user',
      value: 'Take one tablet.',
      authorId: 'dr-osei',
      authorLabel: 'Dr Osei',
      ...over,
    })
    if (outcome.kind !== 'appended') throw new Error(outcome.kind)
    const { place, record } = outcome
    const before = await this.store.version(record, record.version - 1)
    const previous = before.kind === 'found' ? before.record : undefined
    return { record, subscribers: (await this.endpoint?.hub.publish(record, previous, place)) ?? 0 }
  }
}

/** A session as a client holds it, in a process that may restart under it. */
function clientSession(process: McpProcess, id: string, firstToken: string): ClientSession {
  let lastId = 0
  const headers = { 'mcp-session-id': id }
  const session: ClientSession = {
    id,
    token: firstToken,
    async call(method, params) {
      lastId += 1
      const message = { jsonrpc: '2.0', id: lastId, method, ...(params ? { params } : {}) }
      const body = JSON.stringify(message)
      return (await process.request('POST', { token: session.token, headers, body })).body
    },
    async result(method, params) {
      const answer = await session.call(method, params)
      if (answer.result === undefined) throw new Error(JSON.stringify(answer))
      return answer.result
    },
    subscribe: (uri) => session.call('resources/subscribe', { uri }),
    stream: (lastEventId) =>
      EventReader.open({ port: process.port, token: session.token, sessionId: id, lastEventId }),
    end: () => process.request('DELETE', { token: session.token, headers }),
  }
  return session
}

/** Starts a fixture; `close` it. */
export async function startMcp(options: McpFixtureOptions = {}): Promise<McpFixture> {
  const clock = manualClock(START_MS)
  const place = await makeStorePlace({ isOnDisk: options.isOnDisk === true })
  const process = new McpProcess(options, { clock, stores: await openStoresAt(place, clock) })
  await process.start()
  const { store, sessions, events } = process
  return {
    get url() {
      return `http://127.0.0.1:${process.port}/mcp`
    },
    get endpoint() {
      if (process.endpoint === undefined) throw new Error('the fixture was not started')
      return process.endpoint
    },
    clock,
    store,
    sessions,
    events,
    token: (scope, over) => process.token(scope, over),
    request: (method, over) => process.request(method, over),
    async open(scope, over) {
      const token = process.token(scope, over)
      const body = JSON.stringify(initializeBody())
      const answer = await process.request('POST', { token, body })
      const id = answer.headers.get('mcp-session-id')
      if (id === null) throw new Error(`no session was opened: ${answer.status} ${answer.text}`)
      return clientSession(process, id, token)
    },
    with: (id, token) => clientSession(process, id, token),
    write: (over) => process.write(over),
    tamper: (slot, version, change) => place.tamper({ slot, version, change }),
    async restart() {
      await process.stop()
      await process.start()
    },
    async close() {
      await process.stop()
      await process.stores.close()
      await place.remove()
      if (clock.pendingCount() > 0) throw new Error('a timer was left behind')
    },
  }
}
