// The MCP side alone, listening on a free loopback port, over stores in memory and a clock that tests move: for tests of
// everything under /mcp. Requests go over real HTTP.
import { randomBytes } from 'node:crypto'
import { createTokenKeys, createTokenVerifier, mintToken } from '@tallystick/jwt-lite'
import {
  type Clock,
  createServiceApp,
  listeningUrl,
  type ManualClock,
  manualClock,
  type ServiceApp,
} from '@tallystick/service-kit'
import type { CareRecord, NewRecord } from '../domain/care-record.ts'
import type { SessionStore } from '../domain/session-store.ts'
import { corsHook } from '../routes/cors.ts'
import { createMemoryRecordStore, type MemoryRecordStore } from '../testing/memory-record-store.ts'
import { createMemorySessionStore } from '../testing/memory-session-store.ts'
import { EventReader } from './event-reader.fixture.ts'
import {
  createMcpEndpoint,
  type McpEndpoint,
  type McpEndpointDeps,
  type McpEvent,
} from './mcp-endpoint.ts'

/** 2026-11-21T12:00:00Z. */
export const START_MS = Date.UTC(2026, 10, 21, 12)
export const BASE_URL = 'http://care.test'
export const USER = 'care.read.user'
export const ASSISTANT = 'care.read.assistant'
export const BOTH = `${USER} ${ASSISTANT}`

const KEYS = createTokenKeys([Buffer.from('token-secret-for-tests-0123456789abcdef')])

export type RpcAnswer = {
  readonly jsonrpc: string
  readonly id: unknown
  readonly result?: Record<string, unknown>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

export type HttpAnswer = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; {} where it is none. */
  readonly body: RpcAnswer & { readonly error_description?: string }
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

export type McpWorld = {
  readonly url: string
  readonly clock: ManualClock
  readonly store: MemoryRecordStore
  readonly sessions: SessionStore
  readonly events: McpEvent[]
  endpoint: McpEndpoint
  token(scope: string, over?: { sub?: string; lifetimeSeconds?: number; audience?: string }): string
  request(
    method: string,
    options?: {
      token?: string | undefined
      headers?: Record<string, string>
      body?: string | Uint8Array
    },
  ): Promise<HttpAnswer>
  /** Initializes a session with these scopes. */
  open(scope: string, over?: { sub?: string; lifetimeSeconds?: number }): Promise<ClientSession>
  /** A session that is open already, under another token. */
  with(id: string, token: string): ClientSession
  /** Appends and publishes, as an accepted write does; returns how many were subscribed. */
  write(record: Partial<NewRecord>): Promise<{ record: CareRecord; subscribers: number }>
  /** Stops the process and starts another on what it kept. */
  restart(): Promise<void>
  close(): Promise<void>
}

export const initializeBody = (protocolVersion = '2025-11-25'): object => ({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
})

async function answerOf(response: Response): Promise<HttpAnswer> {
  const text = await response.text()
  let body = {} as HttpAnswer['body']
  try {
    body = JSON.parse(text) as HttpAnswer['body']
  } catch {
    // An event stream, or no body: tests of those look at the text.
  }
  return { status: response.status, headers: response.headers, text, body }
}

export type McpWorldOptions = Partial<
  Pick<McpEndpointDeps, 'limits' | 'speech' | 'allowedHosts' | 'baseUrl' | 'sessions' | 'store'>
> & { readonly tokenClock?: Pick<Clock, 'unixMs'> }

/** Starts a world; `close` it. */
export async function mcpWorld(options: McpWorldOptions = {}): Promise<McpWorld> {
  const clock = manualClock(START_MS)
  const store = createMemoryRecordStore({ clock })
  const sessions = options.sessions ?? createMemorySessionStore()
  const events: McpEvent[] = []
  let app: ServiceApp
  let port = 0

  const start = async (): Promise<McpEndpoint> => {
    const endpoint = await createMcpEndpoint({
      store,
      clock,
      random: (size) => randomBytes(size),
      tokens: createTokenVerifier({ keys: KEYS, audience: `${BASE_URL}/mcp`, clock }),
      baseUrl: BASE_URL,
      serviceName: 'care',
      version: '0.0.0',
      observe: (event) => events.push(event),
      ...options,
      sessions,
    })
    app = await createServiceApp({
      name: 'care',
      version: '0.0.0',
      description: 'test',
      clock,
      cors: false,
      routes(scope) {
        scope.addHook('onRequest', corsHook('care'))
        endpoint.addRoutes(scope)
      },
    })
    await app.listen({ host: '127.0.0.1', port })
    port = Number(new URL(listeningUrl(app)).port)
    return endpoint
  }
  const stop = async (endpoint: McpEndpoint): Promise<void> => {
    await app.close()
    await endpoint.close()
  }
  const token: McpWorld['token'] = (scope, over = {}) =>
    mintToken({
      sub: 'host',
      audience: `${BASE_URL}/mcp`,
      typ: 'care+jwt',
      nowSeconds: clock.unixMs() / 1000,
      key: KEYS,
      jti: randomBytes(8).toString('hex'),
      ...over,
      scope,
    })
  const request: McpWorld['request'] = async (method, { token: presented, headers, body } = {}) =>
    answerOf(
      await fetch(`http://127.0.0.1:${port}/mcp`, {
        method,
        headers: {
          ...(presented === undefined ? {} : { authorization: `Bearer ${presented}` }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: body as string }),
      }),
    )
  const held = (id: string, first: string): ClientSession => {
    let lastId = 0
    const session: ClientSession = {
      id,
      token: first,
      async call(method, params) {
        lastId += 1
        const message = { jsonrpc: '2.0', id: lastId, method, ...(params ? { params } : {}) }
        const answer = await request('POST', {
          token: session.token,
          headers: { 'mcp-session-id': id },
          body: JSON.stringify(message),
        })
        return answer.body
      },
      async result(method, params) {
        const answer = await session.call(method, params)
        if (answer.result === undefined) throw new Error(JSON.stringify(answer))
        return answer.result
      },
      subscribe: (uri) => session.call('resources/subscribe', { uri }),
      stream: (lastEventId) =>
        EventReader.open({ port, token: session.token, sessionId: id, lastEventId }),
      end: () => request('DELETE', { token: session.token, headers: { 'mcp-session-id': id } }),
    }
    return session
  }
  const world: McpWorld = {
    get url() {
      return `http://127.0.0.1:${port}/mcp`
    },
    clock,
    store,
    sessions,
    events,
    endpoint: await start(),
    token,
    request,
    async open(scope, over = {}) {
      const presented = token(scope, over)
      const answer = await request('POST', {
        token: presented,
        body: JSON.stringify(initializeBody()),
      })
      const id = answer.headers.get('mcp-session-id')
      if (id === null) throw new Error(`no session was opened: ${answer.status} ${answer.text}`)
      return held(id, presented)
    },
    with: held,
    async write(over) {
      const outcome = await store.append({
        patient: 'ann',
        domain: 'medication',
        audience: 'user',
        value: 'Take one tablet.',
        authorId: 'dr-osei',
        authorLabel: 'Dr Osei',
        ...over,
      })
      if (outcome.kind !== 'appended') throw new Error(outcome.kind)
      const { record } = outcome
      const before = await store.version(record, record.version - 1)
      const previous = before.kind === 'found' ? before.record : undefined
      return { record, subscribers: await world.endpoint.hub.publish(record, previous) }
    },
    async restart() {
      await stop(world.endpoint)
      world.endpoint = await start()
    },
    close: () => stop(world.endpoint),
  }
  return world
}
