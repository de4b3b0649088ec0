/** Builds the service for one configuration: stores, gate, domain, application. Nothing here reads the environment. */
import { randomBytes } from 'node:crypto'
import { createTokenVerifier } from '@tallystick/jwt-lite'
import { type Clock, Registry, type ServiceApp } from '@tallystick/service-kit'
import type { FastifyBaseLogger } from 'fastify'
import { createOddsApiFeed } from './adapters/odds-api-feed.ts'
import { buildGradingApp } from './app.ts'
import type { GradingConfig } from './config.ts'
import { connectPayments, pagePayment } from './connect-payments.ts'
import { createGrader } from './domain/create-grader.ts'
import type { GradingStore } from './domain/grading-store.ts'
import { llmsNotes } from './llms-notes.ts'
import { methodsAnswer } from './methods-answer.ts'
import { openStores, type Stores } from './open-stores.ts'
import { createPollRounds, type PollRounds } from './poll-rounds.ts'
import { gradingReadiness } from './readiness.ts'
import { resumeSales } from './resume-sales.ts'
import { createTelemetry, registerLedgerFigures, type Telemetry } from './telemetry.ts'

export { type GradingConfig, gradingConfigSchema } from './config.ts'

export type GradingServiceOptions = {
  readonly config: GradingConfig
  readonly clock: Clock
  readonly logger?: FastifyBaseLogger
}

export type GradingService = {
  readonly app: ServiceApp
  readonly registry: Registry
  /** The ledger, for whoever fills it in the same process. */
  readonly store: GradingStore
  /** Takes up what an earlier process left open, and starts the poller; the application is served by whoever listens. */
  start(): void
  /** Told at the signal to stop: payments under way are finished or answered as pending within seconds. */
  stopSelling(): Promise<void>
  /** Stops background work and closes the stores; the application is closed by whoever listens, before. */
  close(): Promise<void>
}

/** The configured token is not the one on the network: every payment would fail. The message is for the operator. */
export class WrongToken extends Error {
  override readonly name = 'WrongToken'
}

function tokenVerifier({ BASE_URL, TOKEN_SECRET }: GradingConfig, clock: Clock) {
  if (TOKEN_SECRET === undefined) return undefined
  const verifier = createTokenVerifier({ keys: TOKEN_SECRET, audience: BASE_URL, clock })
  return (token: string) => verifier.verify(token)
}

function pollRounds(
  { config, clock }: GradingServiceOptions,
  store: GradingStore,
  telemetry: Telemetry,
): PollRounds | undefined {
  const { ODDS_API_KEY, ODDS_API_MARKETS, ODDS_API_REGIONS, ODDS_API_SPORTS, ODDS_API_URL } = config
  if (ODDS_API_KEY === undefined) return undefined
  const source = {
    url: ODDS_API_URL,
    apiKey: ODDS_API_KEY.reveal(),
    regions: ODDS_API_REGIONS,
    markets: ODDS_API_MARKETS,
    clock,
  }
  return createPollRounds({
    store,
    feeds: ODDS_API_SPORTS.map((sport) => createOddsApiFeed({ ...source, sport })),
    clock,
    pauseMs: config.ODDS_POLL_SECONDS * 1_000,
    onPolled: telemetry.polled,
    onFailed: telemetry.pollFailed,
  })
}

async function assemble(options: GradingServiceOptions, stores: Stores): Promise<GradingService> {
  const { config, clock, logger } = options
  const { store } = stores
  const registry = new Registry()
  const telemetry = createTelemetry(registry, logger)
  registerLedgerFigures(registry, () => store.counts())
  const { gate, isFacilitatorUp, terms, token } = connectPayments({
    config,
    clock,
    stores,
    telemetry,
  })
  const found = await token.start()
  if (found.kind === 'wrong_chain' || found.kind === 'wrong_domain') {
    await gate.close()
    throw new WrongToken(`NETWORK, ASSET or LEDGER_RPC_URL: ${JSON.stringify(found)}`)
  }
  const grader = createGrader({
    store,
    nowSeconds: () => clock.unixMs() / 1_000,
    random: (bytes) => randomBytes(bytes).toString('hex'),
  })
  const pages = { baseUrl: config.BASE_URL, payment: pagePayment(config) }
  const sales = { grader, report: telemetry.sold }
  const app = await buildGradingApp({
    ...sales,
    gate,
    store,
    methods: methodsAnswer(),
    verifyToken: tokenVerifier(config, clock),
    reportUpload: telemetry.uploaded,
    pages,
    llmsNotes: llmsNotes(pages),
    termsOf: (kind) => (token.maySell() ? terms[kind] : undefined),
    clock,
    ...(logger === undefined ? {} : { logger }),
    registry,
    metricsToken: config.METRICS_TOKEN,
    readiness: gradingReadiness({ store, token, facilitator: isFacilitatorUp }),
  })
  const rounds = pollRounds(options, store, telemetry)
  return {
    app,
    registry,
    store,
    start() {
      rounds?.start()
      resumeSales({ ...sales, gate }, telemetry.resumed).catch((error: unknown) =>
        logger?.error({ err: error }, 'what is open was not resumed'),
      )
    },
    stopSelling: () => gate.close(),
    async close() {
      token.close()
      await Promise.all([rounds?.close(), gate.close()])
      await stores.close()
    },
  }
}

/**
 * Opens the stores and connects the service to its network and facilitator; it starts while either is down. Rejects with
 * GradingStoreUnavailable where a store cannot be opened, and with WrongToken where the network has another token.
 */
export async function createGradingService(
  options: GradingServiceOptions,
): Promise<GradingService> {
  const stores = await openStores(options)
  try {
    return await assemble(options, stores)
  } catch (error) {
    await stores.close()
    throw error
  }
}
