/**
 * The one composition: adapters, domain and application for one configuration. Nothing here reads the environment, and
 * nothing connects before it is used; the service starts while its ledger, mirror node or facilitator is down.
 */
import { randomBytes } from 'node:crypto'
import { atMost, type Clock, createCallRate, Registry, type Service } from '@tallystick/service-kit'
import {
  createDerivedReceiptIssuer,
  createFacilitatorPool,
  createHttpFacilitator,
} from '@tallystick/x402'
import {
  createExactHederaScheme,
  createMirrorAccountDirectory,
  createMirrorNode,
} from '@tallystick/x402/hedera'
import { secp256k1Facts } from '@tallystick/x402/secp256k1'
import type { FastifyBaseLogger } from 'fastify'
import { privateKeyToAddress } from 'viem/accounts'
import { createAccessContractReader } from './adapters/access-contract-reader.ts'
import { createAccessContractWriter } from './adapters/access-contract-writer.ts'
import { createAlertWebhook } from './adapters/alert-webhook.ts'
import {
  createLedgerConditions,
  createLedgerFacts,
  type LedgerFacts,
} from './adapters/ledger-facts.ts'
import { createMirrorAgentHistory } from './adapters/mirror-agent-history.ts'
import { createMirrorPaymentLog } from './adapters/mirror-payment-log.ts'
import { createMirrorSellerHistory } from './adapters/mirror-seller-history.ts'
import { createRecorderLedger, readRecorderGas } from './adapters/recorder-ledger.ts'
import { createRelay } from './adapters/relay.ts'
import { createSessionKeys, deriveSessionKey } from './adapters/session-keys.ts'
import { createUpstreamResource } from './adapters/upstream-resource.ts'
import { createAccessApp } from './app.ts'
import { composeDomain } from './compose-domain.ts'
import { type AccessConfig, keyHex, relayCallsPerMinute } from './config.ts'
import { afterPreviousContracts } from './domain/access-contract.ts'
import type { ReportAccessEvent } from './domain/access-events.ts'
import type { AccessPorts, PaidResourceReader } from './domain/access-parts.ts'
import { readStatus } from './domain/access-status.ts'
import { type Hex, ZERO_ADDRESS } from './domain/access-window.ts'
import type { CreditSweep } from './domain/credit-sweep.ts'
import { createLedgerClock } from './domain/ledger-clock.ts'
import type { RecorderCount } from './domain/recorder-count.ts'
import { createRelayBudget } from './domain/relay-budget.ts'
import type { UsageEventListener } from './metering/recorder-parts.ts'
import { createUsageRecorder } from './metering/usage-recorder.ts'
import { homePage } from './pages/home-page.ts'
import { createTelemetry } from './telemetry.ts'

export { accessConfigSchema } from './config.ts'

type AccessServiceOptions = {
  readonly config: AccessConfig
  readonly clock: Clock
  /** Judges the validity of payments instead of `clock`: wall time, on a local ledger that travels in time. */
  readonly paymentClock?: Clock | undefined
  readonly logger?: FastifyBaseLogger | undefined
  /** Builds the adapters that reach the network; tests replace them with fakes. */
  readonly connect?: ((options: ConnectOptions) => AccessPorts) | undefined
}

export type AccessService = Required<Omit<Service, 'unfinished'>> & {
  readonly sweep: CreditSweep
}

type ConnectOptions = {
  readonly config: AccessConfig
  readonly clock: Clock
  readonly paymentClock: Clock
  readonly onUsageEvent: UsageEventListener
  readonly report: ReportAccessEvent
}

/** How often the facilitator is asked who pays fees, which is also how soon `/ready` says that it is down, milliseconds. */
const FEE_PAYERS_MS = 30_000

/** The facilitator, or two as one (X19). The second may be anyone's, so the mirror node confirms what it says. */
function connectFacilitators(
  { FACILITATOR_URL, FEE_PAYERS, NETWORK: network, SECOND_FACILITATOR_URL: second }: AccessConfig,
  clock: Clock,
) {
  const at = (url: string) => createHttpFacilitator({ url, clock })
  const feePayers = FEE_PAYERS && new Map([[network, FEE_PAYERS]])
  const first = { facilitator: at(FACILITATOR_URL), isTrusted: true, feePayers }
  const members = second === undefined ? [first] : [first, { facilitator: at(second) }]
  const pool = createFacilitatorPool({ clock, refreshMs: FEE_PAYERS_MS, members })
  return { facilitator: pool, feePayers: pool.directory }
}

/** Signs what was paid for (X18). */
function createReceipts(config: AccessConfig, clock: Clock) {
  return createDerivedReceiptIssuer({
    secret: Buffer.from(keyHex(config.PAY_TO_KEY).slice(2), 'hex'),
    purpose: 'tallystick access receipts',
    baseUrl: config.BASE_URL,
    clock,
    earlierKeys: config.EARLIER_RECEIPT_KEYS,
  })
}

/** This process's part of the rates. */
function callRates(config: AccessConfig, clock: Clock) {
  const { AGENT_CALLS_PER_SECOND, ADDRESS_CALLS_PER_SECOND, RECORDER_COUNT: processes } = config
  return {
    agentRate: createCallRate({ clock, perSecond: AGENT_CALLS_PER_SECOND / processes }),
    addressRate: createCallRate({ clock, perSecond: ADDRESS_CALLS_PER_SECOND / processes }),
  }
}

/** Work after the last request gets this long: both end inside the 10 s of S6, and the next process finds the rest. */
const CLOSE_MS = 5_400

export async function createAccessService(options: AccessServiceOptions): Promise<AccessService> {
  const { config, logger, connect = connectPorts } = options
  const ledgerClock = createLedgerClock({ clock: options.clock, wallClock: options.paymentClock })
  const { clock } = ledgerClock
  const { paymentClock = clock } = options
  const registry = new Registry()
  const telemetry = createTelemetry(registry, logger)
  const { onUsageEvent, report } = telemetry
  const ports = connect({ config, clock, paymentClock, onUsageEvent, report })
  const { contract, feePayers, sender, usage } = ports
  const url = `${config.BASE_URL}/api/${config.SERVICE_NAME}`
  const parts = {
    ...ports,
    clock,
    report,
    network: config.NETWORK,
    payTo: config.PAY_TO,
    periodsPerPurchase: config.PERIODS_PER_PURCHASE,
    baseUrl: config.BASE_URL,
    evmChainId: `eip155:${config.LEDGER_CHAIN_ID}`,
    sessions: createSessionKeys(
      deriveSessionKey(config.SESSION_SECRET?.bytes() ?? randomBytes(32), config.BASE_URL),
    ),
    ...callRates(config, clock),
    accessUrl: `${url}/access`,
    statusUrl: `${url}/status`,
  }
  const receipts = createReceipts(config, clock)
  const domain = composeDomain(parts, { config, telemetry, ledgerClock, receipts })
  const { account, alerts, gate, reaper, recorders, sweep } = domain
  telemetry.measure({ usage, sweep, contract, alerts })
  const app = await createAccessApp({
    ...parts,
    serviceName: config.SERVICE_NAME,
    trustedProxyHops: config.TRUST_PROXY_HOPS,
    metricsToken: config.METRICS_TOKEN,
    ...domain,
    readStatus: (agent) => readStatus({ ...parts, ...domain }, agent),
    didDocument: receipts.didDocument,
    logger,
    registry,
    home: () =>
      homePage({ ...parts, counts: telemetry.counts, sellerAccount: () => account?.latest() }),
  })
  return {
    app,
    registry,
    sweep,
    start() {
      logger?.info(secp256k1Facts, 'secp256k1')
      warnOfSurplus(recorders, logger)
      sweep.start()
      alerts.start()
    },
    stopping: () => gate.close(),
    async close() {
      feePayers.close()
      const closing = Promise.all(
        [sweep, gate, reaper, usage, alerts].map(async (part) => await part.close()),
      )
      await atMost(
        clock,
        CLOSE_MS,
        closing.then(() => sender.close()),
      )
    },
  }
}

/** Says at the start what `/ready` would say; a ledger that is down says nothing, and stops no start. */
function warnOfSurplus(recorders: RecorderCount, logger: FastifyBaseLogger | undefined): void {
  recorders.findSurplus().then(
    (sentence) => sentence !== undefined && logger?.warn({ sentence }, 'recorders_uncounted'),
    () => undefined,
  )
}

/** The relay, the budget of its calls, and the reads that all parts share. */
function connectRelay({ config, clock }: ConnectOptions) {
  const budget = createRelayBudget({ clock, callsPerMinute: relayCallsPerMinute(config) })
  const relay = createRelay({ url: config.LEDGER_RPC_URL, clock, budget })
  return { budget, relay, facts: createLedgerFacts({ relay, clock }) }
}

function connectPorts(options: ConnectOptions): AccessPorts {
  const { config, clock, onUsageEvent: onEvent } = options
  const { NETWORK: network, LEDGER_CHAIN_ID: chainId } = config
  const { budget, relay, facts } = connectRelay(options)
  const contractAt = (address: AccessConfig['ACCESS_CONTRACT']) =>
    createAccessContractReader({ relay, clock, budget, chainId, address })
  const contract = afterPreviousContracts(
    contractAt(config.ACCESS_CONTRACT),
    (config.PREVIOUS_CONTRACTS ?? []).map(contractAt),
  )
  const recorderKey = keyHex(config.RECORDER_KEY)
  const recorder = privateKeyToAddress(recorderKey).toLowerCase() as Hex
  const mirror = createMirrorNode({ url: config.MIRROR_URL, clock })
  const accounts = createMirrorAccountDirectory({ mirror, clock })
  return {
    budget,
    contract,
    ...connectFacilitators(config, clock),
    accounts,
    log: createMirrorPaymentLog({ mirror, accounts, payTo: config.PAY_TO }),
    scheme: createExactHederaScheme({
      networks: [network],
      accounts,
      mirror,
      clock: options.paymentClock,
    }),
    sender: createAccessContractWriter({
      relay,
      facts,
      chainId,
      contract,
      privateKey: keyHex(config.PAY_TO_KEY),
      clock,
    }),
    usage: createUsageRecorder({
      ledger: createRecorderLedger({
        relay,
        facts,
        chainId,
        // Without a contract no call is ever recorded.
        contract: config.ACCESS_CONTRACT ?? ZERO_ADDRESS,
        privateKey: recorderKey,
      }),
      clock,
      recorderCount: config.RECORDER_COUNT,
      onEvent,
    }),
    alertWebhook: connectAlertWebhook(options, recorder),
    sellerHistory:
      config.ACCESS_CONTRACT &&
      createMirrorSellerHistory({
        mirror,
        clock,
        contract: config.ACCESS_CONTRACT,
        payTo: config.PAY_TO,
      }),
    agentHistory:
      config.ACCESS_CONTRACT &&
      createMirrorAgentHistory({ mirror, clock, contract: config.ACCESS_CONTRACT }),
    recorder,
    recorderGas: () => readRecorderGas(facts, recorder),
    resource: connectResource(options, facts),
  }
}

function connectResource(
  { config, clock }: ConnectOptions,
  facts: LedgerFacts,
): PaidResourceReader {
  const { RESOURCE_URL: url, RESOURCE_TIMEOUT_MS: timeoutMs, NETWORK: network } = config
  return url === undefined
    ? createLedgerConditions({ facts, network, clock })
    : createUpstreamResource({ url, timeoutMs, clock })
}

function connectAlertWebhook({ config, clock, report }: ConnectOptions, recorder: Hex) {
  const { ALERT_WEBHOOK_URL: url, ACCESS_CONTRACT: contract } = config
  if (url === undefined) return undefined
  return createAlertWebhook({
    url: url.reveal(),
    clock,
    service: { network: config.NETWORK, contract, payTo: config.PAY_TO, recorder },
    onLost: (notice, reason) => report({ kind: 'alert-lost', ...notice, reason }),
  })
}
