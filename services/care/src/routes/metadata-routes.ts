import type { ServiceApp } from '@tallystick/service-kit'
import { CARE_SCOPES } from '../domain/care-record.ts'
import { metadataAnswer } from '../wire/service.ts'

/** Path of the metadata that a 401 names: RFC 9728 §3.1 puts the resource's path behind the well-known one. */
export const METADATA_PATH = '/.well-known/oauth-protected-resource/mcp'
const ROOT_METADATA_PATH = '/.well-known/oauth-protected-resource'
/** It changes with the configuration only. */
const CACHE_SECONDS = 300

export type MetadataRouteDeps = {
  /** The MCP endpoint's URL. */
  readonly resource: string
  readonly baseUrl: string
  readonly authorizationServers: readonly string[]
}

/** Serves the protected-resource metadata (RFC 9728) on both of its paths. */
export function addMetadataRoutes(app: ServiceApp, deps: MetadataRouteDeps): void {
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
  // GET alone: "other methods give 405" (care.md).
  for (const url of [ROOT_METADATA_PATH, METADATA_PATH])
    app.get(url, { schema }, async (_request, reply) => {
      void reply.header('cache-control', `public, max-age=${CACHE_SECONDS}`)
      return metadata
    })
}
