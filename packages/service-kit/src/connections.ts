/**
 * Connections before any route: answers to bytes that are not a request, time limits, bodies for refusals that Node would
 * send without one, and an orderly end when the process stops.
 */
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
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

/**
 * While the process stops, refuses requests on open connections and closes each connection after its answer; a kept-alive
 * one would hold up the process until its idle timeout.
 */
export function refuseWhileStopping(app: ServiceApp): void {
  const refusal = { status: 503, error: 'shutting_down', headers: { 'retry-after': '1' } }
  let isStopping = false
  app.addHook('preClose', async () => {
    isStopping = true
  })
  app.addHook('onRequest', (_request, reply, done) => {
    if (isStopping) void sendError(reply, refusal)
    else done()
  })
  app.addHook('onSend', async (_request, reply) => {
    if (isStopping) void reply.header('connection', 'close')
  })
  app.addHook('onResponse', (_request, _reply, done) => {
    if (isStopping) setImmediate(() => app.server.closeIdleConnections())
    done()
  })
}
