/**
 * Puts the service together from its stores and its MCP side; who opens those is service.ts, or a test with stores in
 * memory. Nothing here reads the environment or a file of its own choosing.
 */
import { createTokenVerifier, type TokenVerifier } from '@tallystick/jwt-lite'
import { type Clock, Registry, type ServiceApp } from '@tallystick/service-kit'
import type { FastifyBaseLogger } from 'fastify'
import { buildCareApp } from './app.ts'
import { carePlaces } from './care-places.ts'
import type { CareConfig } from './config.ts'
import { type AuditTrail, createPublisher, type PublishRecord } from './domain/publish-record.ts'
import type { RecordStore } from './domain/record-store.ts'
import { atRestLine, createChainVerifier } from './domain/verification.ts'
import { llmsNotes } from './llms-notes.ts'
import type { McpEndpoint } from './mcp/mcp-endpoint.ts'
import { readPageFiles } from './pages/page-files.ts'
import { careReadiness } from './readiness.ts'
import { createSignatureCheck } from './routes/write-signature.ts'
import { mcpFigures, observedAudit, registerFigures, timedAppend } from './telemetry.ts'

export type CareParts = {
  readonly config: CareConfig
  readonly clock: Clock
  readonly logger?: FastifyBaseLogger
  readonly store: RecordStore
  readonly audit: AuditTrail
  readonly tokens: TokenVerifier
  /** Where metrics register; one is made otherwise. */
  readonly registry?: Registry
  readonly mcp: Pick<McpEndpoint, 'addRoutes' | 'hub' | 'figures'>
}

export type AssembledCare = {
  readonly app: ServiceApp
  readonly registry: Registry
}

/** The verifier of tokens for this service's MCP endpoint. */
export function careTokens(config: CareConfig, clock: Clock): TokenVerifier {
  const { resource: audience } = carePlaces(config)
  return createTokenVerifier({ keys: config.TOKEN_SECRET, audience, clock })
}

export async function assembleCare(parts: CareParts): Promise<AssembledCare> {
  const { config, clock, logger, store, tokens, mcp } = parts
  const registry = parts.registry ?? new Registry()
  const audit = observedAudit(parts.audit, { registry, logger })
  const isoNow = () => new Date(clock.unixMs()).toISOString()
  const places = carePlaces(config)
  const verifier = createChainVerifier({ store, isoNow })
  const publisher = createPublisher({
    store: {
      append: timedAppend((record, request) => store.append(record, request), {
        registry,
        nowMs: () => performance.now(),
      }),
      version: (slot, version) => store.version(slot, version),
      noteSubscribers: (request, subscribers) => store.noteSubscribers(request, subscribers),
    },
    hub: mcp.hub,
    audit,
    isoNow,
  })
  const publish: PublishRecord = async (write) => {
    try {
      return await publisher(write)
    } finally {
      verifier.noteWrite()
    }
  }
  registerFigures(registry, {
    ...mcpFigures(mcp.figures),
    care_replays_total: { help: 'Replays of chains begun.', read: () => verifier.runs() },
  })
  const app = await buildCareApp({
    ...places,
    pages: readPageFiles({ baseUrl: places.baseUrl, serviceName: config.SERVICE_NAME }),
    serviceName: config.SERVICE_NAME,
    authorizationServers: config.AUTHORIZATION_SERVERS,
    clock,
    ...(logger === undefined ? {} : { logger }),
    registry,
    metricsToken: config.METRICS_TOKEN,
    readiness: careReadiness({ store }),
    llmsNotes: llmsNotes(places),
    verifySignature: createSignatureCheck({ secret: config.WRITE_SECRET.bytes(), clock }),
    verifyToken: (token) => tokens.verify(token),
    publish,
    audit,
    isoNow,
    store,
    verifier,
    atRestLine: () => atRestLine(store.sealing()),
    addMcpRoutes: (scope) => mcp.addRoutes(scope),
    sessions: () => mcp.hub.sessions(),
  })
  return { app, registry }
}
