/** What the service says about itself, and the headers under which browsers may call it: metadata, health, CORS. */
import type { CorsPolicy, ServiceApp } from '@tallystick/service-kit'
import { MODERN_REVISION } from '@tallystick/service-kit/mcp'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SessionHub } from '../domain/publish-record.ts'
import type { AdvertisedScopes } from '../domain/trusted-issuer.ts'
import { healthAnswer, metadataAnswer } from '../wire/service.ts'

/** Path of the metadata that a 401 names: RFC 9728 §3.1 puts the resource's path after the well-known one. */
export const METADATA_PATH = '/.well-known/oauth-protected-resource/mcp'
/** Path of the revision of MCP without sessions; a resource of its own (C21). */
export const MODERN_MCP_PATH = `/mcp/${MODERN_REVISION}`
export const MODERN_METADATA_PATH = `/.well-known/oauth-protected-resource${MODERN_MCP_PATH}`
const ROOT_METADATA_PATH = '/.well-known/oauth-protected-resource'
/** The metadata changes only with the configuration. */
const CACHE_SECONDS = 300

/** Serves the protected-resource metadata (RFC 9728) of both MCP endpoints, that of `/mcp` on both of its paths. */
export function addMetadataRoutes(
  app: ServiceApp,
  deps: {
    readonly baseUrl: string
    readonly servers: readonly string[]
    readonly scopes: AdvertisedScopes
  },
): void {
  const describeResource = (path: string, scopes: readonly string[]) => ({
    resource: `${deps.baseUrl}${path}`,
    authorization_servers: [...deps.servers],
    scopes_supported: [...scopes],
    bearer_methods_supported: ['header'],
    resource_documentation: `${deps.baseUrl}/verify`,
  })
  const sessions = describeResource('/mcp', deps.scopes.all)
  const places = {
    [ROOT_METADATA_PATH]: sessions,
    [METADATA_PATH]: sessions,
    // Nothing there writes, so no host needs to ask for the write scope.
    [MODERN_METADATA_PATH]: describeResource(MODERN_MCP_PATH, deps.scopes.reading),
  }
  const schema = {
    tags: ['mcp'],
    summary: 'Protected-resource metadata: who issues tokens, and for which scopes.',
    response: { 200: metadataAnswer },
  }
  // Only GET: "other methods give 405" (care.md).
  for (const [url, metadata] of Object.entries(places)) {
    const answer = async (_request: FastifyRequest, reply: FastifyReply) => {
      void reply.header('cache-control', `public, max-age=${CACHE_SECONDS}`)
      return metadata
    }
    app.get(url, { schema }, answer)
    // Of a resource's address with a slash at its end (C41).
    app.get(`${url}/`, { schema: { ...schema, hide: true } }, answer)
  }
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

/** Under which headers browsers may call the service; care.md (Other routes) fixes each of them. */
export const careCors = (serviceName: string): CorsPolicy => ({
  methods: ['GET', 'POST', 'DELETE', 'OPTIONS'],
  allowedHeaders: [
    'authorization',
    'content-type',
    'accept',
    `x-${serviceName}-signature`,
    `x-${serviceName}-timestamp`,
    'mcp-session-id',
    'mcp-protocol-version',
    'last-event-id',
    'mcp-method',
    'mcp-name',
  ],
  exposedHeaders: ['mcp-session-id', 'www-authenticate'],
  isByOrigin: true,
})
