/** Builds the service for one configuration: world, parts, application. Nothing here reads the environment. */
import { type Clock, Registry, type ServiceApp } from '@tallystick/service-kit'
import { encodePaymentResponse, timedScheme } from '@tallystick/x402'
import { paymentReference } from '@tallystick/x402/hedera'
import type { FastifyBaseLogger } from 'fastify'
import { createAccessCore } from './access-core.ts'
import { buildAccessApp } from './app.ts'
import type { AccessConfig } from './config.ts'
import { connectWorld } from './connect-world.ts'
import { readStatus } from './domain/access-answers.ts'
import { registerMeasuredFigures } from './measured-figures.ts'
import { homePage, llmsNotes } from './pages/home-page.ts'
import { accessReadiness } from './readiness.ts'
import { createTelemetry } from './telemetry.ts'

export { type AccessConfig, accessConfigSchema } from './config.ts'

export type AccessServiceOptions = {
  readonly config: AccessConfig
  readonly clock: Clock
  /** By which the validity of payments is judged, where that is not `clock`: on a local ledger that travels, wall time. */
  readonly paymentClock?: Clock
  readonly logger?: FastifyBaseLogger
}

export type AccessService = {
  readonly app: ServiceApp
  readonly registry: Registry
  /** Starts the sweep; the application is served by whoever listens. */
  start(): void
  /** One sweep of payTo's credits, beside those that the clock makes. */
  sweep(): Promise<void>
  /** Told at the signal to stop: payments under way are finished or answered as pending within seconds. */
  stopSelling(): Promise<void>
  /** Stops background work and flushes the metering; the application is closed by whoever listens. */
  close(): Promise<void>
}

/** Connects the service to its ledger, mirror node and facilitator; it starts while any of them is down. */
export async function createAccessService(options: AccessServiceOptions): Promise<AccessService> {
  const { config, clock, logger, paymentClock = clock } = options
  const registry = new Registry()
  const telemetry = createTelemetry(registry, logger)
  const world = connectWorld({ config, clock, paymentClock, onUsageEvent: telemetry.onUsageEvent })
  const { contract, usage, feePayers } = world
  const urlOf = (route: string) => `${config.BASE_URL}/api/${config.SERVICE_NAME}/${route}`
  const settings = {
    network: config.NETWORK,
    payTo: config.PAY_TO,
    periodsPerPurchase: config.PERIODS_PER_PURCHASE,
    resourceUrl: urlOf('access'),
    paymentReference: (transactionId: string) => paymentReference(transactionId).hash,
  }
  const core = createAccessCore(
    {
      ...world,
      scheme: timedScheme(world.scheme, {
        nowMs: () => performance.now(),
        hear: telemetry.verified,
      }),
      clock,
      feePayers: async () => feePayers.feePayers(config.NETWORK),
      report: telemetry.report,
      observeGate: telemetry.observeGate,
    },
    settings,
  )
  const { sweep } = core
  registerMeasuredFigures(registry, {
    usage: usage.figures,
    unresolvedCredits: () => sweep.unresolvedCount(),
    sweepAgeSeconds: () => sweep.ageSeconds(),
    renewalsReserveCanArm: () => contract.renewalsReserveCanArm(),
  })
  const places = { ...settings, contract, accessUrl: urlOf('access'), statusUrl: urlOf('status') }
  const app = await buildAccessApp({
    serviceName: config.SERVICE_NAME,
    callAccess: core.callAccess,
    readStatus: (agent) => readStatus({ contract, clock }, agent),
    gate: core.gate,
    encodeSettlement: encodePaymentResponse,
    clock,
    ...(logger === undefined ? {} : { logger }),
    registry,
    metricsToken: config.METRICS_TOKEN,
    readiness: accessReadiness({ ...world, ...settings, sweep }),
    home: () => homePage({ ...places, counts: telemetry.counts }),
    llmsNotes: llmsNotes(places),
  })
  return {
    app,
    registry,
    start: () => sweep.start(),
    sweep: () => sweep.sweep(),
    stopSelling: () => core.stopSelling(),
    async close() {
      feePayers.close()
      await core.close()
    },
  }
}
