/** Everything between a payment and its network: scheme, facilitators, gate, receipts, terms and the token check. */
import type { Clock } from '@tallystick/service-kit'
import {
  createDerivedReceiptIssuer,
  createFacilitatorPool,
  createHttpFacilitator,
  createPaymentGate,
  type Facilitator,
  type PaymentTerms,
  type ReservationStore,
  timedScheme,
} from '@tallystick/x402'
import {
  checkEvmDomain,
  createExactEvmScheme,
  createJsonRpcLedger,
  createOkxFacilitator,
  type DomainCheck,
  type EvmAsset,
  type EvmLedger,
} from '@tallystick/x402/evm'
import { type GradingConfig, paymentAsset } from './config.ts'
import type { SaleDoor, SaleKind } from './routes/sale-job.ts'
import { saleTerms } from './routes/sale-terms.ts'
import { observedGate, type Telemetry } from './telemetry.ts'

/** Payments in flight get this long after the process is told to stop; then their requests are answered as pending. */
const STOP_MS = 4_000

function firstFacilitator(config: GradingConfig, clock: Clock): Facilitator {
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

/** How often facilitators are asked whether they answer, for `/ready`, milliseconds: OKX limits requests per key. */
const FACILITATOR_UP_MS = 30_000

/** The facilitator, or two as one (X19): anyone may run the second, so the chain confirms its answers. */
function connectFacilitators(config: GradingConfig, clock: Clock) {
  const { SECOND_FACILITATOR_URL: url } = config
  const first = { facilitator: firstFacilitator(config, clock), isTrusted: true }
  const second = url === undefined ? [] : [{ facilitator: createHttpFacilitator({ url, clock }) }]
  const members = [first, ...second]
  return createFacilitatorPool({ clock, refreshMs: FACILITATOR_UP_MS, members })
}

/** Connects to the network and asks the facilitators in the background until `facilitators` is closed. */
export function connectPayments(options: {
  readonly config: GradingConfig
  readonly clock: Clock
  readonly reservations: ReservationStore
  readonly checkpointSeed: Uint8Array
  readonly telemetry: Telemetry
}) {
  const { checkpointSeed, clock, config, reservations, telemetry } = options
  const asset = paymentAsset(config)
  const ledger = createJsonRpcLedger({ url: config.LEDGER_RPC_URL, clock })
  const facilitator = connectFacilitators(config, clock)
  const receipts = createDerivedReceiptIssuer({
    secret: checkpointSeed,
    purpose: 'tallystick grading receipts',
    baseUrl: config.BASE_URL,
    clock,
    earlierKeys: config.EARLIER_RECEIPT_KEYS,
  })
  const scheme = createExactEvmScheme({
    assets: [asset],
    ledger,
    clock,
    contractWallets: config.CONTRACT_WALLETS,
  })
  const gate = createPaymentGate({
    schemes: [timedScheme(scheme, { nowMs: () => performance.now(), hear: telemetry.verified })],
    facilitator,
    receipts,
    reservations,
    clock,
    limits: { closeWaitMs: STOP_MS },
    observe: telemetry.gate,
  })
  const token = createTokenCheck({ asset, ledger, clock, onWrong: telemetry.wrongToken })
  const terms = saleTerms({ asset, payTo: config.PAY_TO, baseUrl: config.BASE_URL })
  return {
    gate: observedGate(gate, telemetry.outcome),
    token,
    /** What is on sale; undefined while the network's token is not the configured one. */
    findTerms: (kind: SaleKind, door: SaleDoor): PaymentTerms | undefined =>
      token.maySell() ? terms[door][kind] : undefined,
    facilitators: facilitator.directory,
    didDocument: receipts.didDocument,
  }
}

/** The node's address for pages; undefined if a path, a query or credentials may hold a key. */
export function publicNode({ LEDGER_RPC_URL }: GradingConfig): string | undefined {
  const { pathname, search, username, password } = new URL(LEDGER_RPC_URL)
  const isPublic = pathname === '/' && search === '' && username === '' && password === ''
  return isPublic ? LEDGER_RPC_URL : undefined
}

/** Pause between attempts to read the token while the network does not answer, milliseconds. */
const RETRY_MS = 30_000

/** Checks that the configured token is the one on the network (G9): at start, for `/ready`, and until the network has answered. */
export function createTokenCheck(options: {
  readonly asset: EvmAsset
  readonly ledger: Pick<EvmLedger, 'chainId' | 'domainSeparator'>
  readonly clock: Clock
  /** Called each time the network is found to have another token. */
  readonly onWrong?: (found: DomainCheck) => void
}) {
  const { asset, clock, ledger } = options
  let latest: DomainCheck | undefined
  let cancel: (() => void) | undefined
  let isClosed = false
  const check = async (): Promise<DomainCheck> => {
    const found = await checkEvmDomain(asset, ledger)
    // A known answer stays valid while the network is silent.
    if (found.kind !== 'unreachable' || latest === undefined) latest = found
    if (found.kind === 'wrong_chain' || found.kind === 'wrong_domain') options.onWrong?.(found)
    return found
  }
  const start = async (): Promise<DomainCheck> => {
    const found = await check()
    if (found.kind === 'unreachable' && !isClosed)
      cancel = clock.after(RETRY_MS, () => void start())
    return found
  }
  return {
    /** Asks now. Never throws because of the network. */
    check,
    /** False once the network has another token: then nothing is sold. */
    maySell: () => latest?.kind !== 'wrong_chain' && latest?.kind !== 'wrong_domain',
    /** Asks until the network has answered. */
    start,
    close() {
      isClosed = true
      cancel?.()
    },
  }
}
