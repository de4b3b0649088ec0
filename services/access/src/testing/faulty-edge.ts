/**
 * An HTTP server in front of another one, on which a test decides what happens to each request: passed on, lost before or
 * after it arrived, held back, or answered with anything. A process that reaches its dependencies only through such edges
 * can be made to die at any request: from then on the others hear nothing from it.
 */
import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  request as sendRequest,
} from 'node:http'
import type { AddressInfo } from 'node:net'

export type EdgeAnswer = { readonly status: number; readonly body: string }

/** What a client sees of one request; `cut` ends its connection without an answer. */
export type EdgeFate = EdgeAnswer | 'cut'

export type EdgeRequest = {
  readonly method: string
  /** Path with its query. */
  readonly path: string
  readonly body: string
}

/** Decides about one request; `forward` passes it on and returns the answer. */
export type Intercept = (
  request: EdgeRequest,
  forward: () => Promise<EdgeAnswer>,
) => Promise<EdgeFate>

export type FaultyEdge = {
  readonly url: string
  /** Takes over every later request; without an argument they are passed on again. */
  intercept(how?: Intercept): void
  /** What currently decides about requests. */
  current(): Intercept
  /** Cuts every connection, present and future: the process behind this edge is dead. */
  kill(): void
  stop(): Promise<void>
}

const passOn: Intercept = (_request, forward) => forward()

export async function startFaultyEdge(targetUrl: string): Promise<FaultyEdge> {
  let current = passOn
  let isDead = false
  const server = createServer((incoming, outgoing) => void serveOne(incoming, outgoing))

  const serveOne = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const fate = await answer(incoming).catch((): EdgeFate => 'cut')
    if (fate === 'cut' || isDead) outgoing.destroy()
    else outgoing.writeHead(fate.status, { 'content-type': 'application/json' }).end(fate.body)
  }

  const answer = async (incoming: IncomingMessage): Promise<EdgeFate> => {
    const request = {
      method: incoming.method ?? 'GET',
      path: incoming.url ?? '/',
      body: await readText(incoming),
    }
    if (isDead) return 'cut'
    return current(request, () => forwardTo(targetUrl, request))
  }

  return {
    url: await listen(server),
    intercept(how = passOn) {
      current = how
    },
    current: () => current,
    kill() {
      isDead = true
      server.closeAllConnections()
    },
    async stop() {
      isDead = true
      server.closeAllConnections()
      server.close()
    },
  }
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function readText(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

/** Without a pool of connections, so that requests do not affect each other. */
function forwardTo(targetUrl: string, request: EdgeRequest): Promise<EdgeAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = sendRequest(
      `${targetUrl}${request.path}`,
      { method: request.method, agent: false, headers: { 'content-type': 'application/json' } },
      (incoming) => {
        readText(incoming).then(
          (body) => resolve({ status: incoming.statusCode ?? 502, body }),
          reject,
        )
      },
    )
    outgoing.on('error', reject)
    outgoing.end(request.body)
  })
}
