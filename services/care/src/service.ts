/** Builds the service for one configuration: stores, MCP side, application. Nothing here reads the environment. */
import { randomBytes } from 'node:crypto'
import { type Clock, Registry, type ServiceApp } from '@tallystick/service-kit'
import type { FastifyBaseLogger } from 'fastify'
import { createEspeakSpeech, findEspeak } from './adapters/espeak-speech.ts'
import { openSqliteAuditTrail } from './adapters/sqlite-audit-trail.ts'
import { openSqliteRecordStore } from './adapters/sqlite-record-store.ts'
import { openSqliteSessionStore } from './adapters/sqlite-session-store.ts'
import { loadCheckpointSeed } from './adapters/store-checkpoint-key.ts'
import { checkpointOrigin } from './adapters/store-origin.ts'
import { storePaths } from './adapters/store-paths.ts'
import { CARE_VERSION } from './app.ts'
import { assembleCare, careTokens } from './assemble-care.ts'
import { type CareConfig, checkpointSeed } from './config.ts'
import type { AuditTrail } from './domain/publish-record.ts'
import type { RecordStore } from './domain/record-store.ts'
import type { SessionStore } from './domain/session-store.ts'
import { createMcpEndpoint, type McpEndpoint } from './mcp/mcp-endpoint.ts'
import { observeMcp } from './telemetry.ts'

export { type CareConfig, careConfigSchema } from './config.ts'

export type CareServiceOptions = {
  readonly config: CareConfig
  readonly clock: Clock
  readonly logger?: FastifyBaseLogger
  /** Folders where `espeak-ng` is looked for, as in `PATH`; without it no record has an audio form. */
  readonly programPath?: string
}

export type CareService = {
  readonly app: ServiceApp
  readonly registry: Registry
  /** Ends event streams, telling clients to come back: for the moment when the process is asked to stop. */
  endStreams(): void
  /** Flushes and closes sessions and stores; the application is closed by whoever listens, before. */
  close(): Promise<void>
}

type Stores = {
  readonly records: RecordStore
  readonly sessions: SessionStore
  readonly audit: AuditTrail
  close(): Promise<void>
}

async function openStores(options: CareServiceOptions): Promise<Stores> {
  const { config, clock, logger } = options
  const databasePath = config.DATABASE_PATH
  const paths = storePaths(databasePath)
  const onProblem = (error: unknown): void => logger?.error({ err: error }, 'store problem')
  const opened: { close(): Promise<void> }[] = []
  const close = async (): Promise<void> => {
    for (const one of opened.splice(0).toReversed()) await one.close()
  }
  try {
    const records = openSqliteRecordStore({
      databasePath,
      clock,
      ...(config.SEAL_KEYS === undefined ? {} : { keyRing: config.SEAL_KEYS }),
      checkpointSeed: loadCheckpointSeed({ databasePath, configured: checkpointSeed(config) }),
      origin: checkpointOrigin({ baseUrl: config.BASE_URL, serviceName: config.SERVICE_NAME }),
      onProblem,
    })
    opened.push(records)
    const sessions = openSqliteSessionStore({ path: paths.sessions, onProblem })
    opened.push(sessions)
    const audit = openSqliteAuditTrail({ path: paths.sessions, clock, onProblem })
    opened.push(audit)
    return { records, sessions, audit, close }
  } catch (error) {
    await close()
    throw error
  }
}

function openMcp(
  stores: Stores,
  options: CareServiceOptions & {
    readonly tokens: ReturnType<typeof careTokens>
    readonly registry: Registry
  },
): Promise<McpEndpoint> {
  const { config, clock, logger, tokens } = options
  const program = findEspeak(options.programPath ?? '')
  return createMcpEndpoint({
    store: stores.records,
    sessions: stores.sessions,
    tokens,
    clock,
    random: randomBytes,
    speech: program === undefined ? undefined : createEspeakSpeech({ program, clock }),
    baseUrl: config.BASE_URL,
    ...(config.ALLOWED_HOSTS === undefined ? {} : { allowedHosts: config.ALLOWED_HOSTS }),
    serviceName: config.SERVICE_NAME,
    version: CARE_VERSION,
    limits: {
      idleMs: config.SESSION_IDLE_SECONDS * 1_000,
      absoluteMs: config.SESSION_TTL_SECONDS * 1_000,
      sessionsMax: config.SESSIONS_MAX,
      sessionsPerSubMax: config.SESSIONS_PER_SUB_MAX,
    },
    observe: observeMcp(options.registry, logger),
  })
}

/**
 * Opens the stores and takes up the sessions that an earlier process left. Rejects with `RecordStoreUnavailable` and its
 * like where a store cannot be opened: their messages are for the operator.
 */
export async function createCareService(options: CareServiceOptions): Promise<CareService> {
  const { config, clock, logger } = options
  const stores = await openStores(options)
  try {
    const tokens = careTokens(config, clock)
    const registry = new Registry()
    const mcp = await openMcp(stores, { ...options, tokens, registry })
    const { app } = await assembleCare({
      config,
      clock,
      ...(logger === undefined ? {} : { logger }),
      store: stores.records,
      audit: stores.audit,
      tokens,
      registry,
      mcp,
    })
    return {
      app,
      registry,
      endStreams: () => mcp.endStreams(),
      async close() {
        await mcp.close()
        await stores.close()
      },
    }
  } catch (error) {
    await stores.close()
    throw error
  }
}
