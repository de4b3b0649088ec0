// The payer's side of a pay-once access service: call the resource (paying if no window is open), read the status, watch the
// window, cancel, top up. Expected results are outcomes; a service or ledger that is down throws its error.
import { type Clock, LedgerUnavailable } from '@tallystick/x402'
import { agentMemo, HBAR_ASSET } from '@tallystick/x402/hedera'
import type { SchemeNetworkClient } from '@x402/fetch'
import type { Address, LocalAccount } from 'viem'
import type { AccessStatus } from './access-answers.ts'
import {
  type CancelOutcome,
  cancelAndClaim,
  createTransact,
  type GuardFailed,
  type GuardOutcome,
  readIsGuarded,
  setGuard,
  type TopUpOutcome,
  type Transact,
  topUp,
} from './access-contract.ts'
import {
  type AccessOutcome,
  AccessServiceUnavailable,
  answeredOutcome,
  RETRY_AFTER_SECONDS,
  type StatusOutcome,
  statusOutcome,
  unsignedOutcome,
} from './access-outcome.ts'
import { sessionFetch } from './agent-session.ts'
import { requestPaid, type SignedPayment } from './paid-request.ts'
import { createEvidenceReader, type PurchaseEvidence } from './purchase-evidence.ts'
import { type WindowChange, watchWindow } from './window-watch.ts'

/** A purchase answers within 15 s of its receipt; this is twice that, plus the ledger's own seconds. */
export const REQUEST_MS_MAX = 60_000
/** How long one payment is resent: past the 200 s after which the service opens a found payment by itself. */
export const RESEND_MS = 240_000
const POLL_MS = 1_000
const hbarCap = (amountMax: bigint) => [{ asset: HBAR_ASSET, amountMax }]
const ASK_JSON: RequestInit = { headers: { accept: 'application/json' } }

const CONTRACT_UNSTATED =
  'To top up, an agent must be told its contract: a service could name one of its own.'

/** Who pays and signs. Build one from a key with `agentSigner`. */
export type AgentSigner = {
  readonly evmAddress: Address
  /** `0.0.x`. Throws AccountUnknown or LedgerUnavailable if it has to be looked up. */
  readonly accountId: () => Promise<string>
  /** x402's client side for this payer, which writes that memo into what it signs. */
  readonly paymentScheme: (memo: string) => SchemeNetworkClient
  /** Signs the agent's own transactions on the contract. */
  readonly account: LocalAccount
}

export type AccessAgentOptions = {
  /** Where the service is, e.g. `https://access.example`. */
  readonly baseUrl: string
  /** The service's own name in its paths, `/api/<name>/access`. */
  readonly serviceName: string
  /** Without one the agent only reads: nothing is ever signed, and `agent` is required. */
  readonly signer?: AgentSigner | undefined
  readonly clock: Clock
  /** Whose window; by default the signer's own. A payment for another is a gift. */
  readonly agent?: Address | undefined
  /** The most that one call may pay, tinybar. Without it, nothing is ever signed. */
  readonly maxPaymentTinybar?: bigint | undefined
  /** CAIP-2 network to pay on, by default `hedera:testnet`. */
  readonly network?: `${string}:${string}` | undefined
  /** JSON-RPC of the ledger, for `cancel`, `topUp` and `guard`. */
  readonly ledger?: { readonly rpcUrl: string; readonly chainId: number }
  /**
   * The only access contract to sign for. `topUp` needs it: no money goes to an address from an answer. Without it, `cancel`
   * and `guard` sign for whichever contract the service names.
   */
  readonly contract?: Address | undefined
  /**
   * Whether the signer's own window is guarded once this agent has paid for it, which takes `ledger` and the gas of one
   * transaction. By default true: without a guard, whoever knows the address can use up the window.
   */
  readonly guardsPurchases?: boolean | undefined
  readonly fetch?: typeof globalThis.fetch
  readonly requestMs?: number
  /** How long a payment without a clear answer is resent, milliseconds. */
  readonly resendMs?: number
  readonly pollMs?: number
  readonly onResend?: ((attempt: number) => void) | undefined
  /** Keeps what the service signed about each payment (X18), whatever it proves. */
  readonly keep?: ((evidence: PurchaseEvidence) => void) | undefined
}

export type AccessAgent = {
  readonly agent: Address
  /** Calls the paid resource once, paying at most the maximum if no window is open. Counts as one metered call. */
  access(): Promise<AccessOutcome>
  /** Free read of window, balance and usage. */
  status(): Promise<StatusOutcome>
  /**
   * Reports every poll and every change until the returned function is called, and with `warnSeconds` also that the paid
   * time ends within so many seconds.
   */
  watch(
    onChange: (change: WindowChange) => void,
    options?: { readonly warnSeconds?: number | undefined },
  ): () => void
  /** Ends renewals of the signer's own subscription (not of another `agent`) and claims the rest of its balance. */
  cancel(): Promise<CancelOutcome>
  /** Sets whether calls in the signer's own window must prove its key. */
  guard(isGuarded: boolean): Promise<GuardOutcome>
  /** Adds to the subscription of any `agent`, on the configured contract. */
  topUp(amountTinybar: bigint): Promise<TopUpOutcome>
}

/** The access contract as the signer uses it. */
type Opened = {
  readonly address: Address
  readonly transact: Transact
  /** Whether the signer's own window is guarded. */
  readonly isGuarded: () => Promise<boolean>
}

/** The agent of one service. Its methods throw AccessServiceUnavailable, and LedgerUnavailable if they sign. */
export function createAccessAgent(options: AccessAgentOptions): AccessAgent {
  const { baseUrl, clock, ledger, serviceName, signer } = options
  const { fetch = globalThis.fetch, requestMs = REQUEST_MS_MAX, resendMs = RESEND_MS } = options
  const { network = 'hedera:testnet', onResend, pollMs = POLL_MS, guardsPurchases = true } = options
  const agent = options.agent ?? signer?.evmAddress
  if (agent === undefined) throw new Error('an agent without a signer needs an address')
  const maxPaymentTinybar = signer === undefined ? 0n : (options.maxPaymentTinybar ?? 0n)
  const scheme = signer?.paymentScheme(agentMemo(agent)) // X10
  const url = (endpoint: 'access' | 'status'): string =>
    `${baseUrl.replace(/\/+$/, '')}/api/${serviceName}/${endpoint}?agent=${agent}`
  const isOwn = agent.toLowerCase() === signer?.evmAddress.toLowerCase()
  const accessFetch = signer && isOwn ? sessionFetch(fetch, { ...signer, network }) : fetch
  const unreachable = (cause: unknown): AccessServiceUnavailable =>
    new AccessServiceUnavailable(`No access service answers at ${baseUrl}.`, { cause })

  const readEvidence = createEvidenceReader(options)

  let unsettled: SignedPayment | undefined

  async function access(): Promise<AccessOutcome> {
    const limits = { caps: hbarCap(maxPaymentTinybar), requestMs, resendMs, unsettled }
    const payer = { url: url('access'), init: ASK_JSON, fetch: accessFetch, clock, network }
    const exchange = await requestPaid({ ...payer, scheme, onResend, ...limits })
    const { payment } = exchange
    unsettled = payment ?? unsettled
    if (exchange.kind === 'answered') {
      const outcome = await answeredOutcome(exchange.response, payment)
      const evidence = await readEvidence(exchange, url('access'))
      const isPurchase = outcome.kind === 'granted' && outcome.payment !== undefined
      if (isPurchase) unsettled = undefined
      return await guarded(isPurchase ? { ...outcome, evidence } : outcome)
    }
    if (exchange.kind === 'unsigned') {
      return unsignedOutcome(exchange, { network, maxPaymentTinybar })
    }
    if (payment === undefined) throw unreachable(exchange.cause)
    const retryAfterSeconds = RETRY_AFTER_SECONDS
    return { kind: 'payment-pending', retryAfterSeconds, error: 'no_answer', payment }
  }

  async function guarded(outcome: AccessOutcome): Promise<AccessOutcome> {
    const isPurchase = outcome.kind === 'granted' && outcome.payment !== undefined
    if (!isPurchase || !isOwn || ledger === undefined || !guardsPurchases) return outcome
    return { ...outcome, guard: await signSerially(setGuardUnlessSet).catch(guardFailed) }
  }

  async function status(ended?: AbortSignal): Promise<StatusOutcome> {
    const limit = AbortSignal.timeout(requestMs)
    const signal = ended === undefined ? limit : AbortSignal.any([limit, ended])
    const response = await fetch(url('status'), { signal }).catch((cause: unknown) => {
      throw unreachable(cause)
    })
    return await statusOutcome(response)
  }

  async function readStatus(ended?: AbortSignal): Promise<AccessStatus> {
    const outcome = await status(ended)
    if (outcome.kind === 'status') return outcome.status
    throw new AccessServiceUnavailable(
      `The service at ${baseUrl} answered ${outcome.httpStatus}: ${outcome.error}.`,
    )
  }

  const signSerially = createSerialSigning(options, readStatus)

  return {
    agent,
    access,
    status: () => status(),
    watch: (onChange, warn) => watchWindow({ ...warn, readStatus, clock, pollMs, onChange }),
    cancel: () => signSerially(({ transact }) => cancelAndClaim(transact)),
    guard: (isGuarded) => signSerially(({ transact }) => setGuard(transact, isGuarded)),
    async topUp(amountTinybar) {
      if (options.contract === undefined) throw new LedgerUnavailable(CONTRACT_UNSTATED)
      return await signSerially(({ transact }) => topUp(transact, { agent, amountTinybar }))
    },
  }
}

/** Guards the window that was just paid for. */
async function setGuardUnlessSet({ isGuarded, transact }: Opened): Promise<GuardOutcome> {
  return (await isGuarded()) ? { kind: 'guard-unchanged' } : await setGuard(transact, true)
}

/** A guard that could not be set must not hide the purchase. */
function guardFailed(failure: unknown): GuardFailed {
  const isExpected =
    failure instanceof LedgerUnavailable || failure instanceof AccessServiceUnavailable
  if (!isExpected) throw failure
  return { kind: 'guard-failed', reason: failure.message }
}

type SignSerially = <Outcome>(sign: (contract: Opened) => Promise<Outcome>) => Promise<Outcome>

/** Signs on the contract one at a time: two at once would take the same nonce, and the ledger does not queue a later one. */
function createSerialSigning(
  { contract, ledger, signer }: AccessAgentOptions,
  readStatus: () => Promise<AccessStatus>,
): SignSerially {
  // Kept because it knows its nonces before the relay shows them.
  let opened: Opened | undefined

  async function open(): Promise<Opened> {
    if (ledger === undefined || signer === undefined) {
      throw new LedgerUnavailable('To sign on the ledger an agent needs its address and a signer.')
    }
    const { contract: address } = await readStatus()
    const trusted = contract?.toLowerCase() ?? address.toLowerCase()
    if (address.toLowerCase() !== trusted)
      throw new AccessServiceUnavailable(`The service names contract ${address}, not ${trusted}.`)
    if (opened?.address !== address) {
      const { account, evmAddress: agent } = signer
      const own = { ...ledger, contract: address }
      const transact = createTransact({ ...own, account })
      opened = { address, transact, isGuarded: () => readIsGuarded({ ...own, agent }) }
    }
    return opened
  }

  let lastSigned: Promise<unknown> = Promise.resolve()
  return async (sign) => {
    const signOwn = async () => await sign(await open())
    const signed = lastSigned.then(signOwn, signOwn)
    lastSigned = signed
    return await signed
  }
}
