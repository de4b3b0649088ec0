/** What the service says about itself, and the headers under which browsers may call it: metadata, health, CORS. */
import type { ServiceApp } from '@tallystick/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { CARE_SCOPES } from '../domain/care-record.ts'
import type { SessionHub } from '../domain/publish-record.ts'
import { healthAnswer, metadataAnswer } from '../wire/service.ts'

/** Path of the metadata that a 401 names: RFC 9728 §3.1 puts the resource's path after the well-known one. */
export const METADATA_PATH = '/.well-known/oauth-protected-resource/mcp'
const ROOT_METADATA_PATH = '/.well-known/oauth-protected-resource'
/** The metadata changes only with the configuration. */
const CACHE_SECONDS = 300

/** Serves the protected-resource metadata (RFC 9728) on both of its paths. */
export function addMetadataRoutes(
  app: ServiceApp,
  deps: {
    /** The MCP endpoint's URL. */
    readonly resource: string
    readonly baseUrl: string
    readonly authorizationServers: readonly string[]
  },
): void {
  const metadata = {
    resource: deps.resource,
    authorization_servers: [...deps.authorizationServers],
    scopes_supported: [...CARE_SCOPES],
    bearer_methods_supported: ['header'],
    resource_documentation: `${deps.baseUrl}/verify`,
  }
  const schema = {
    tags: ['mcp'],
    summary: 'Protected-resource metadata: who issues tokens, and for which scopes.',
    response: { 200: metadataAnswer },
  }
  // Only GET: "other methods give 405" (care.md).
  for (const url of [ROOT_METADATA_PATH, METADATA_PATH])
    app.get(url, { schema }, async (_request, reply) => {
      void reply.header('cache-control', `public, max-age=${CACHE_SECONDS}`)
      return metadata
    })
}

/** Serves `GET /health`, whose body care.md fixes. */
export function addHealthRoute(app: ServiceApp, hub: Pick<SessionHub, 'sessions'>): void {
  const schema = {
    tags: ['operations'],
    summary: 'Liveness, and how many MCP sessions are open.',
    response: { 200: healthAnswer },
  }
  app.get('/health', { schema, exposeHeadRoute: true }, async (_request, reply) => {
    void reply.header('cache-control', 'no-store')
    return { ok: true as const, sessions: hub.sessions() }
  })
}

const CORS_MAX_AGE_SECONDS = 600

/**
 * Returns a hook that answers `OPTIONS` on any path with 204, before any route's own hooks, and lets every origin read
 * the other answers (care.md, Other routes). Browsers send nothing here unasked (no cookies), so an origin gains nothing
 * that its user has not given it. The headers are set on Node's response, so that a stream that a route writes itself
 * carries them too.
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
  // A callback, which saves a promise per request compared with an async hook.
  return (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const { raw } = reply
    raw.setHeader('access-control-allow-origin', request.headers.origin || '*')
    raw.setHeader('access-control-expose-headers', 'mcp-session-id, www-authenticate')
    raw.setHeader('vary', 'origin')
    if (request.method !== 'OPTIONS') {
      done()
      return
    }
    raw.setHeader('access-control-allow-methods', 'GET, POST, DELETE, OPTIONS')
    raw.setHeader('access-control-allow-headers', allowedHeaders)
    raw.setHeader('access-control-max-age', String(CORS_MAX_AGE_SECONDS))
    void reply.code(204).send()
  }
}
