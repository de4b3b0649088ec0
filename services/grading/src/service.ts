/** Builds the service for one configuration: stores, gate, domain, application. Nothing here reads the environment. */
import { randomBytes } from 'node:crypto'
import type { Clock, ServiceApp } from '@tallystick/service-kit'
import {
  createHttpFacilitator,
  createPaymentGate,
  type Facilitator,
  type GateEvent,
  type ResumingPaymentGate,
} from '@tallystick/x402'
import {
  createExactEvmScheme,
  createJsonRpcLedger,
  createOkxFacilitator,
} from '@tallystick/x402/evm'
import type { FastifyBaseLogger } from 'fastify'
import { Registry } from 'prom-client'
import { loadCheckpointSeed } from './adapters/checkpoint-seed.ts'
import { ledgerOrigin } from './adapters/ledger-origin.ts'
import { openSqliteGradingStore } from './adapters/sqlite-grading-store.ts'
import { openSqlitePaidRequests, type SqlitePaidRequests } from './adapters/sqlite-paid-requests.ts'
import {
  openSqliteReservationStore,
  type SqliteReservationStore,
} from './adapters/sqlite-reservation-store.ts'
import { buildGradingApp } from './app.ts'
import { type GradingConfig, paymentAsset } from './config.ts'
import { createGrader } from './domain/create-grader.ts'
import type { GradingStore } from './domain/grading-store.ts'
import { gradingReadiness } from './readiness.ts'
import { resumeSales } from './resume-sales.ts'
import { saleTerms } from './sale-terms.ts'
import {
  createTelemetry,
  observedGate,
  registerLedgerFigures,
  type Telemetry,
  timedScheme,
} from './telemetry.ts'
import { createTokenCheck } from './token-check.ts'

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

/** Payments under way get this long once the process is told to stop; then their requests are answered as pending. */
const STOP_SELLING_MS = 4_000

type Stores = {
  readonly store: GradingStore
  readonly reservations: SqliteReservationStore
  readonly requests: SqlitePaidRequests
  close(): Promise<void>
}

async function openStores({ config, clock }: GradingServiceOptions): Promise<Stores> {
  const databasePath = config.DATABASE_PATH
  const opened: { close(): void | Promise<void> }[] = []
  const close = async (): Promise<void> => {
    for (const one of opened.splice(0).toReversed()) await one.close()
  }
  try {
    const store = openSqliteGradingStore({
      databasePath,
      clock,
      checkpointSeed: loadCheckpointSeed(databasePath),
      origin: ledgerOrigin(config.BASE_URL),
    })
    opened.push(store)
    const reservations = openSqliteReservationStore({ databasePath, clock })
    opened.push(reservations)
    const requests = openSqlitePaidRequests(databasePath)
    opened.push(requests)
    return { store, reservations, requests, close }
  } catch (error) {
    await close()
    throw error
  }
}

function connectFacilitator(config: GradingConfig, clock: Clock): Facilitator {
  const { FACILITATOR_URL, OKX_API_KEY, OKX_PASSPHRASE, OKX_SECRET_KEY, OKX_URL } = config
  if (FACILITATOR_URL !== undefined) return createHttpFacilitator({ url: FACILITATOR_URL, clock })
  if (OKX_API_KEY === undefined || OKX_PASSPHRASE === undefined || OKX_SECRET_KEY === undefined)
    throw new RangeError('no facilitator is configured')
  return createOkxFacilitator({
    url: OKX_URL,
    apiKey: OKX_API_KEY.reveal(),
    passphrase: OKX_PASSPHRASE.reveal(),
    secretKey: OKX_SECRET_KEY.reveal(),
    clock,
  })
}

/** Everything between a payment and the network that it is on. */
function connectPayments(options: GradingServiceOptions, stores: Stores, telemetry: Telemetry) {
  const { config, clock, logger } = options
  const asset = paymentAsset(config)
  const ledger = createJsonRpcLedger({ url: config.LEDGER_RPC_URL, clock })
  const facilitator = connectFacilitator(config, clock)
  const scheme = createExactEvmScheme({ assets: [asset], ledger, clock })
  const forget = (event: GateEvent): void => {
    if (event.kind !== 'fulfilled' && event.kind !== 'refused') return
    stores.requests
      .forget(event.payment.id)
      .catch((error: unknown) => logger?.warn({ err: error }, 'a paid request was not forgotten'))
  }
  const gate: ResumingPaymentGate = createPaymentGate({
    schemes: [timedScheme(scheme, { nowMs: () => performance.now(), hear: telemetry.verified })],
    facilitator,
    reservations: stores.reservations,
    clock,
    limits: { closeWaitMs: STOP_SELLING_MS },
    observe(event) {
      telemetry.gate(event)
      forget(event)
    },
  })
  return {
    gate: observedGate(gate, telemetry.outcome),
    token: createTokenCheck({ asset, ledger, clock }),
    terms: saleTerms({ asset, payTo: config.PAY_TO, baseUrl: config.BASE_URL }),
    isFacilitatorUp: () =>
      facilitator.feePayers().then(
        () => true,
        () => false,
      ),
  }
}

async function assemble(options: GradingServiceOptions, stores: Stores): Promise<GradingService> {
  const { config, clock, logger } = options
  const { requests, reservations, store } = stores
  const registry = new Registry()
  const telemetry = createTelemetry(registry, logger)
  registerLedgerFigures(registry, () => store.counts())
  const { gate, isFacilitatorUp, terms, token } = connectPayments(options, stores, telemetry)
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
  const sales = { grader, requests, report: telemetry.sold }
  const app = await buildGradingApp({
    ...sales,
    gate,
    ledger: store,
    termsOf: (kind) => (token.maySell() ? terms[kind] : undefined),
    clock,
    ...(logger === undefined ? {} : { logger }),
    registry,
    metricsToken: config.METRICS_TOKEN,
    readiness: gradingReadiness({ store, token, facilitator: isFacilitatorUp }),
  })
  return {
    app,
    registry,
    store,
    start() {
      resumeSales({
        ...sales,
        gate,
        reservations,
        requests,
        onResumed: ({ paymentId }, outcome) => logger?.info({ paymentId, outcome }, 'resumed'),
      }).catch((error: unknown) => logger?.error({ err: error }, 'resuming failed'))
    },
    stopSelling: () => gate.close(),
    async close() {
      token.close()
      await gate.close()
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
