/** The composition: builds stores, payments, domain and application for one configuration. Reads no environment. */
import { randomBytes } from 'node:crypto'
import { createTokenVerifier } from '@tallystick/jwt-lite'
import { type Clock, Registry, type Service, systemClock } from '@tallystick/service-kit'
import { secp256k1Facts } from '@tallystick/x402/secp256k1'
import type { FastifyBaseLogger } from 'fastify'
import { createOddsApiFeed } from './adapters/odds-api-feed.ts'
import { ledgerOwner, openStores, type Stores } from './adapters/open-stores.ts'
import { createGradingApp } from './app.ts'
import { type GradingConfig, paymentAsset } from './config.ts'
import { type GradingStore, GradingStoreUnavailable } from './domain/closes/grading-store.ts'
import { createGrader } from './domain/grading/grader.ts'
import { oneAuditPerPayer } from './domain/grading/long-work.ts'
import { createPollRounds, type PollRoundsOptions } from './ingest/odds-poller.ts'
import { threadCpuMs } from './long-work/do-long-work.ts'
import { openLongWorker } from './long-work/long-worker.ts'
import { connectPayments, type createTokenCheck, publicNode } from './payments.ts'
import { createResumeRounds, resumeSales } from './routes/resume-sales.ts'
import { createTelemetry, type Telemetry } from './telemetry.ts'

export { gradingConfigSchema } from './config.ts'

type GradingServiceOptions = {
  readonly config: GradingConfig
  readonly clock: Clock
  readonly logger?: FastifyBaseLogger | undefined
}

/** The service with its ledger, for tests that fill it in the same process. */
export type GradingService = Service & { readonly store: GradingStore; start(): void }

/** The configured token is not the one on the network, so every payment would fail. The message is for the operator. */
export class WrongToken extends Error {
  override readonly name = 'WrongToken'
}

/** A first part of a table would be graded against, and counted in the truth table, as if it were the whole. */
async function requireWholeImports(stores: Stores): Promise<Stores> {
  const files = await stores.ledger.unfinishedImports()
  if (files.length === 0) return stores
  throw new GradingStoreUnavailable(
    `an import was cut off, or still runs: ${files.join(', ')}. Run "grading import" with it again, which goes on from there, or "grading accept-backup" to keep what is here`,
  )
}

async function requireRightToken({ start }: ReturnType<typeof createTokenCheck>): Promise<void> {
  const found = await start()
  if (found.kind === 'wrong_chain' || found.kind === 'wrong_domain')
    throw new WrongToken(`NETWORK, ASSET or LEDGER_RPC_URL: ${JSON.stringify(found)}`)
}

/** The thread for long work. If it hangs, it is replaced in real time, whatever clock a test uses. */
const longWorker = ({ DATABASE_PATH: databasePath, DATABASE_URL }: GradingConfig) =>
  openLongWorker({
    place: { databasePath, databaseUrl: DATABASE_URL?.reveal() },
    clock: systemClock,
  })

function tokenVerifier({ BASE_URL, TOKEN_SECRET }: GradingConfig, clock: Clock) {
  if (TOKEN_SECRET === undefined) return undefined
  const verifier = createTokenVerifier({ keys: TOKEN_SECRET, audience: BASE_URL, clock })
  return (token: string) => verifier.verify(token)
}

function pollRounds(
  { config, clock }: GradingServiceOptions,
  polling: Pick<PollRoundsOptions, 'store' | 'mayPoll'>,
  telemetry: Telemetry,
) {
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
    ...polling,
    feeds: ODDS_API_SPORTS.map((sport) => createOddsApiFeed({ ...source, sport })),
    clock,
    pauseMs: config.ODDS_POLL_SECONDS * 1_000,
    onPolled: telemetry.polled,
    onFailed: telemetry.pollFailed,
  })
}

/**
 * Opens the stores and connects the service to its network and facilitator; it starts while either is down. Rejects
 * with `GradingStoreUnavailable` if a store cannot be opened, and with `WrongToken`.
 */
export async function createGradingService(
  options: GradingServiceOptions,
): Promise<GradingService> {
  const { clock, config, logger } = options
  logger?.info(secp256k1Facts, 'secp256k1')
  const registry = new Registry()
  const telemetry = createTelemetry(registry, logger)
  const onProblem = (error: unknown): void =>
    logger?.error({ err: error }, 'the ledger has trouble')
  // Whatever was opened is closed, last first: when the service ends, or here if something cannot be opened.
  await using opened = new AsyncDisposableStack()
  const ending = <Part extends { close(): void | Promise<void> }>(part: Part): Part =>
    opened.adopt(part, () => part.close())
  const stores = await requireWholeImports(ending(await openStores(config, { clock, onProblem })))
  const { countProcesses, ledger: store, reservations, writeTrouble } = stores
  // It ends after the payments whose work it does.
  const worker = ending(longWorker(config))
  const longWork = oneAuditPerPayer(worker)
  const { checkpointSeed } = ledgerOwner(config)
  telemetry.measure(() => store.counts(), stores.postgres)
  const payments = connectPayments({ config, clock, reservations, checkpointSeed, telemetry })
  const facilitators = ending(payments.facilitators)
  const gate = ending(payments.gate)
  const token = ending(payments.token)
  await requireRightToken(token)
  const grader = createGrader({ store, clock, randomBytes })
  const sales = { grader, longWork, report: telemetry.sold, gate }
  const app = await createGradingApp({
    ...sales,
    store,
    countProcesses,
    writeTrouble,
    verifyToken: tokenVerifier(config, clock),
    reportUpload: telemetry.uploaded,
    pages: { baseUrl: config.BASE_URL, asset: paymentAsset(config), rpcUrl: publicNode(config) },
    findTerms: payments.findTerms,
    didDocument: payments.didDocument,
    trustedProxyHops: config.TRUST_PROXY_HOPS,
    clock,
    cpuMs: threadCpuMs,
    logger,
    registry,
    metricsToken: config.METRICS_TOKEN,
    facilitators,
    token,
  })
  const polls = pollRounds(options, stores.polling, telemetry)
  const rounds = opened.adopt(polls, (running) => running?.close())
  const resumeRounds = createResumeRounds({
    clock,
    everyMs: stores.resumeEveryMs,
    resume: () => resumeSales(sales, telemetry.resumed),
    onFailed: telemetry.notResumed,
  })
  const ends = opened.move()
  return {
    app,
    registry,
    store,
    start() {
      worker.start()
      rounds?.start()
      resumeRounds.start()
    },
    // Payments in flight are finished, or answered as pending within seconds.
    stopping: () => {
      stores.stopping()
      resumeRounds.close()
      return gate.close()
    },
    close: () => ends.disposeAsync(),
  }
}
