import type { FastifyReply, FastifyRequest } from 'fastify'

const ALLOWED_METHODS = 'GET, POST, DELETE, OPTIONS'
const EXPOSED_HEADERS = 'mcp-session-id, www-authenticate'
const MAX_AGE_SECONDS = 600

/**
 * Returns a hook that answers `OPTIONS` on any path with 204, before any route's own hooks, and lets every origin read
 * the other answers (care.md, Other routes). Nothing here is sent along by a browser unasked (no cookies), so that an
 * origin gains nothing that its user has not given it.
 *
 * The headers are set on Node's response, because they must also be on a stream that a route writes by itself.
 */
export function corsHook(serviceName: string) {
  const allowedHeaders = [
    'authorization',
    'content-type',
    'accept',
    `x-${serviceName}-signature`,
    `x-${serviceName}-timestamp`,
    'mcp-session-id',
    'mcp-protocol-version',
    'last-event-id',
  ].join(', ')
  // With a callback, which costs a promise less per request than an async hook.
  return (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const { raw } = reply
    raw.setHeader('access-control-allow-origin', request.headers.origin || '*')
    raw.setHeader('access-control-expose-headers', EXPOSED_HEADERS)
    raw.setHeader('vary', 'origin')
    if (request.method !== 'OPTIONS') {
      done()
      return
    }
    raw.setHeader('access-control-allow-methods', ALLOWED_METHODS)
    raw.setHeader('access-control-allow-headers', allowedHeaders)
    raw.setHeader('access-control-max-age', String(MAX_AGE_SECONDS))
    void reply.code(204).send()
  }
}
