// A receiver of events over real HTTP, which answers as a test wants, and calls of the methods by a host of 2026-07-28.
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { modernBody, modernHeaders } from '../mcp/edges/modern.fixture.ts'
import { BASE_URL } from './care.fixture.ts'
import { type RunningCare, startRunningCare } from './running-care.fixture.ts'

/** What the service needs to serve events to receivers on loopback. */
export const EVENTS_ENVIRONMENT = {
  EVENTS: 'chatgpt',
  EVENTS_PRIVATE: 'true',
  SEAL_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
}

export const drawSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

type Received = {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly event: {
    readonly type?: string
    readonly challenge?: string
    readonly eventId: string
    readonly cursor: string
    readonly data: {
      readonly uri: string
      readonly version: number
      readonly versionHash: string
      readonly retracts: boolean
    }
  }
}

export type EventReceiverFixture = {
  readonly url: string
  /** Deliveries, without challenges. */
  readonly got: Received[]
  readonly challenges: Received[]
  /** Its answer to a delivery; `hang` sends none. */
  answer: (received: Received) => number | 'hang'
  /** What it answers to a challenge. */
  challenge: (received: Received, response: ServerResponse) => void
  close(): void
}

/** Starts one on a free loopback port; with a key and a certificate, by TLS. */
export async function startReceiver(tls?: {
  readonly key: string
  readonly cert: string
}): Promise<EventReceiverFixture> {
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request)
    const headers = request.headers as Received['headers']
    const event = JSON.parse(body) as Received['event']
    const received = { path: request.url ?? '', headers, body, event }
    if (event.type === 'verification') {
      fixture.challenges.push(received)
      return fixture.challenge(received, response)
    }
    fixture.got.push(received)
    const status = fixture.answer(received)
    if (status !== 'hang')
      response.writeHead(status, { location: '/elsewhere' }).end('secret answer')
  }
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    serve(request, response).catch(() => response.destroy())
  }
  const server: Server =
    tls === undefined ? createServer(onRequest) : createTlsServer(tls, onRequest)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const fixture: EventReceiverFixture = {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    got: [],
    challenges: [],
    answer: () => 204,
    challenge: ({ event: { challenge } }, response) =>
      void response.writeHead(200).end(JSON.stringify({ challenge })),
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
  return fixture
}

type RpcAnswer = {
  readonly result?: Record<string, unknown>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** A host's calls under one token. */
export function eventHost(care: Pick<RunningCare, 'url'>, token: string) {
  const call = async (method: string, params: object = {}): Promise<RpcAnswer> => {
    const answer = await fetch(`${care.url}/mcp/2026-07-28`, {
      method: 'POST',
      headers: { ...modernHeaders(method), authorization: `Bearer ${token}` },
      body: modernBody(method, params),
    })
    return (await answer.json()) as RpcAnswer
  }
  return {
    call,
    subscribe: (url: string, over: object = {}) =>
      call('events/subscribe', {
        name: 'care.record.revised',
        arguments: { patient: 'ann' },
        delivery: { mode: 'webhook', url, secret: drawSecret() },
        cursor: null,
        ...over,
      }),
    unsubscribe: (url: string, args: object = { patient: 'ann' }) =>
      call('events/unsubscribe', {
        name: 'care.record.revised',
        arguments: args,
        delivery: { url },
      }),
  }
}

export const EVENTS_AUDIENCE = `${BASE_URL}/mcp/2026-07-28`

/** Registers the hooks of a file: one service that serves events, and a receiver for each test. */
export function useEvents() {
  const on = {} as { care: RunningCare; receiver: EventReceiverFixture }
  beforeAll(async () => {
    on.care = await startRunningCare({ environment: EVENTS_ENVIRONMENT })
  })
  afterAll(() => on.care.remove())
  beforeEach(async () => {
    on.receiver = await startReceiver()
  })
  afterEach(() => on.receiver.close())
  const issueToken = (scope: string, sub: string): string =>
    on.care.token(scope, { sub, audience: EVENTS_AUDIENCE })
  return Object.assign(on, {
    issueToken,
    /** A host whose token is for this service. */
    makeHostFor: (scope: string, sub: string) => eventHost(on.care, issueToken(scope, sub)),
    write: (over: Readonly<Record<string, string>>) =>
      on.care.write({ patient: 'ann', domain: 'tea', value: 'hidden', authorId: 'dr', ...over }),
  })
}
