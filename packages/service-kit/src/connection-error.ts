import type { Socket } from 'node:net'
import { type ErrorAnswer, errorJson } from './error-answer.ts'

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
}

/** The answer to what is not a request that Node could parse. */
export function connectionAnswer(code: string): ErrorAnswer {
  if (code === 'HPE_HEADER_OVERFLOW') return { status: 431, error: 'request_headers_too_large' }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return { status: 408, error: 'request_timeout' }
  return { status: 400, error: 'malformed_request' }
}

/** Answers a connection whose bytes are no HTTP request, in the house's shape, and closes it. */
export function answerConnectionError(error: { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const answer = connectionAnswer(error.code ?? '')
  const body = errorJson(answer)
  const head = [
    `HTTP/1.1 ${answer.status} ${REASONS[answer.status] ?? 'Error'}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
