/**
 * Puts the service together from its stores and its MCP side; who opens those is service.ts, or a test with stores in
 * memory. Nothing here reads the environment or a file of its own choosing.
 */
import { createTokenVerifier, type TokenVerifier } from '@tallystick/jwt-lite'
import { type Clock, Registry, type ServiceApp } from '@tallystick/service-kit'
import type { FastifyBaseLogger } from 'fastify'
import { buildCareApp } from './app.ts'
import type { CareConfig } from './config.ts'
import { atRestLine } from './domain/at-rest-line.ts'
import type { AuditTrail } from './domain/audit-trail.ts'
import { createChainVerifier } from './domain/chain-verifier.ts'
import { createPublisher, type PublishRecord } from './domain/publish-record.ts'
import type { RecordStore } from './domain/record-store.ts'
import type { SessionHub } from './domain/session-hub.ts'
import { METADATA_PATH } from './routes/metadata-routes.ts'
import { createSignatureCheck } from './routes/write-signature.ts'

/** The MCP side as the rest of the service sees it. */
export type McpSide = {
  addRoutes(app: ServiceApp): void | Promise<void>
  readonly hub: SessionHub
}

/** Where things are, as clients see them. */
export type CarePlaces = {
  /** Without a trailing slash. */
  readonly baseUrl: string
  /** The MCP endpoint, which is the tokens' audience. */
  readonly resource: string
  readonly metadataUrl: string
}

export type CareParts = {
  readonly config: CareConfig
  readonly clock: Clock
  readonly logger?: FastifyBaseLogger
  readonly store: RecordStore
  readonly audit: AuditTrail
  readonly tokens: TokenVerifier
  readonly mcp: McpSide
}

export type AssembledCare = {
  readonly app: ServiceApp
  readonly registry: Registry
}

export function carePlaces(config: Pick<CareConfig, 'BASE_URL'>): CarePlaces {
  const baseUrl = config.BASE_URL
  return {
    baseUrl,
    resource: `${baseUrl}/mcp`,
    metadataUrl: `${baseUrl}${METADATA_PATH}`,
  }
}

/** The verifier of tokens for this service's MCP endpoint. */
export function careTokens(config: CareConfig, clock: Clock): TokenVerifier {
  const { resource: audience } = carePlaces(config)
  return createTokenVerifier({ keys: config.TOKEN_SECRET, audience, clock })
}

export async function assembleCare(parts: CareParts): Promise<AssembledCare> {
  const { config, clock, logger, store, audit, tokens, mcp } = parts
  const registry = new Registry()
  const isoNow = () => new Date(clock.unixMs()).toISOString()
  const places = carePlaces(config)
  const verifier = createChainVerifier({ store, isoNow })
  const publisher = createPublisher({ store, hub: mcp.hub, audit, isoNow })
  const publish: PublishRecord = async (write) => {
    try {
      return await publisher(write)
    } finally {
      verifier.noteWrite()
    }
  }
  const app = await buildCareApp({
    ...places,
    serviceName: config.SERVICE_NAME,
    authorizationServers: config.AUTHORIZATION_SERVERS,
    clock,
    ...(logger === undefined ? {} : { logger }),
    registry,
    metricsToken: config.METRICS_TOKEN,
    verifySignature: createSignatureCheck({ secret: config.WRITE_SECRET.bytes(), clock }),
    verifyToken: (token) => tokens.verify(token),
    publish,
    audit,
    isoNow,
    verifier,
    atRestLine: () => atRestLine(store.sealing()),
    addMcpRoutes: (scope) => mcp.addRoutes(scope),
    sessions: () => mcp.hub.sessions(),
  })
  return { app, registry }
}
