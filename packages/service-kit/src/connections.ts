/**
 * Connections before any route: answers to bytes that are not a request, time limits, bodies for refusals that Node would
 * send without one, and an orderly end when the process stops.
 */
import { type ServerResponse, STATUS_CODES } from 'node:http'
import { Server, type Socket } from 'node:net'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { type Clock, pause } from './clock.ts'
import { type ErrorAnswer, errorJson } from './error-answer.ts'
import { sendError } from './error-handler.ts'
import type { ServiceApp } from './service-app.ts'

/** How long a client may take to send. A slower one is answered 408 and disconnected. */
export const DEFAULT_CONNECTION_LIMITS = {
  /** For the request headers. An honest client sends them in one packet, so a client that trickles lines is cut off early. */
  headersMs: 10_000,
  /** For the whole request. */
  requestMs: 30_000,
  /** How often connections are checked; a limit can be overrun by this much. */
  checkEveryMs: 5_000,
}

export type ConnectionLimits = Readonly<typeof DEFAULT_CONNECTION_LIMITS>

/** The answer to bytes that Node could not parse as a request. */
function connectionAnswer(code: string): ErrorAnswer {
  if (code === 'HPE_HEADER_OVERFLOW') return { status: 431, error: 'request_headers_too_large' }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return { status: 408, error: 'request_timeout' }
  return { status: 400, error: 'malformed_request' }
}

/** Answers bytes that are not an HTTP request, in JSON like every error, and closes the connection. */
export function answerConnectionError(error: { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const answer = connectionAnswer(error.code ?? '')
  const body = errorJson(answer)
  const head = [
    `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

/** Answers an expectation other than 100-continue (RFC 9110 §10.1.1). */
function refuseExpectation(_request: unknown, response: ServerResponse): void {
  const body = errorJson({ status: 417, error: 'expectation_failed' })
  response.writeHead(417, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  })
  response.end(body)
}

/** Refuses HTTP/1.1 without `Host` (RFC 9112 §3.2), which `requireHostHeader: false` lets through, and expectations. */
export function guardConnections(app: ServiceApp): void {
  app.server.on('checkExpectation', refuseExpectation)
  const refusal = { status: 400, error: 'host_required', headers: { connection: 'close' } }
  app.addHook('onRequest', (request, reply, done) => {
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1')
      void sendError(reply, refusal)
    else done()
  })
}

/** Requests on their way when a process is told to stop arrive within this, even from a proxy on another continent. */
const ON_THE_WAY_MS = 100

/** Node accepts one connection in a turn of the event loop: most of what may wait to be accepted, within a millisecond or two. */
const ARRIVED_TURNS = 64

/** Lets Node take the connections and requests that have arrived already. */
async function takeArrived(): Promise<void> {
  for (let turn = 0; turn < ARRIVED_TURNS; turn += 1) await nextIteration()
}

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Takes no more connections, and for a moment answers what arrives on the open ones, each for the last time: closing
     * them at once would reset the requests that are on the way.
     */
    answerKeptConnections(clock: Pick<Clock, 'after'>): Promise<void>
  }
}

/**
 * Ends connections when the process stops so that no answer is lost: each is closed after the answer that it waits for.
 * From `app.close()` on, further requests on open connections are refused.
 */
export function endConnections(app: ServiceApp): void {
  const sockets = new Set<Socket>()
  /** Connections that wait for an answer, or have not taken all of it. */
  const busy = new Set<Socket>()
  let stage: 'open' | 'last answers' | 'refusing' = 'open'
  const refusal = { status: 503, error: 'shutting_down', headers: { 'retry-after': '1' } }
  app.server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  // Node calls this when the server closes. Its own version resets connections whose answer is still on its way out.
  app.server.closeIdleConnections = () => {
    for (const socket of sockets) if (!busy.has(socket)) socket.destroySoon()
  }
  app.decorate('answerKeptConnections', async (clock: Pick<Clock, 'after'>) => {
    stage = 'last answers'
    await takeArrived()
    // Not the HTTP server's own `close`, which also closes connections.
    if (app.server.listening) Server.prototype.close.call(app.server)
    if (sockets.size > 0) await pause(clock, ON_THE_WAY_MS)
  })
  app.addHook('preClose', async () => {
    stage = 'refusing'
    await takeArrived()
  })
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw
    busy.add(socket)
    reply.raw.once('close', () => {
      busy.delete(socket)
      if (stage === 'refusing') socket.destroySoon()
    })
    if (stage === 'refusing') void sendError(reply, refusal)
    else done()
  })
  app.addHook('onSend', async (_request, reply) => {
    if (stage !== 'open') void reply.header('connection', 'close')
  })
}
