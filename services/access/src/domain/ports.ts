import type { Clock } from '@tallystick/service-kit'
import type {
  Facilitator,
  FacilitatorRoutes,
  FeePayerDirectory,
  PaymentScheme,
} from '@tallystick/x402'
import type { AccountDirectory, LedgerTime } from '@tallystick/x402/hedera'
import type { AccessWindow, Hex } from './access-window.ts'
import type { ReportAccessEvent } from './events.ts'
import type { RelayBudget } from './relay-budget.ts'
import type { SellerHistory } from './seller-account.ts'
import type { AlertNotice } from './seller-alerts.ts'
import type { Subscriptions } from './subscriptions.ts'
import type { UsageRecorder } from './usage-recorder.ts'

/** What the service reaches over a network. */
export type AccessPorts = {
  readonly contract: AccessContract
  readonly sender: ContractSender
  readonly log: PaymentLog
  readonly usage: UsageRecorder
  readonly resource: PaidResourceReader
  readonly scheme: PaymentScheme
  readonly facilitator: Facilitator | FacilitatorRoutes
  readonly feePayers: Omit<FeePayerDirectory, 'firstAttempt'>
  readonly accounts: AgentAccounts
  /** EVM address of the account that records usage. */
  readonly recorder: Hex
  /** For calls to the relay. */
  readonly budget: RelayBudget
  /** What the recorder's account holds, and what a full batch needs, tinybar. */
  recorderGas(): Promise<{ readonly held: bigint; readonly needed: bigint }>
  /** What the seller earned and spent; none before a contract is deployed. */
  readonly sellerHistory?: SellerHistory | undefined
  /** Where alerts go besides metric and log. `send` does not wait. */
  readonly alertWebhook?: { send(notice: AlertNotice): void; close(): void } | undefined
}

/** What every part of the domain may use. */
export type AccessParts = AccessPorts & {
  readonly subscriptions: Subscriptions
  readonly clock: Clock
  readonly report: ReportAccessEvent
  /** CAIP-2. */
  readonly network: string
  /** `0.0.x`. */
  readonly payTo: string
  readonly periodsPerPurchase: number
}

/** Terms of a purchase, as the contract keeps them. */
export type Offer = {
  readonly offerId: number
  /** Price of one period, tinybar. */
  readonly priceTinybar: bigint
  readonly periodSeconds: number
  readonly callsAllowed: number
  /** Second from which purchases have these terms, Unix seconds. */
  readonly startsAtSeconds: number
  /** Windows end at seconds this far apart: a subscription's first is up to this much longer (A19). */
  readonly slotSeconds: number
}

/** The seller's part of the contract's balance, tinybar: earned and not withdrawn, free reserve, locked, owed for gas. */
type SellerBooks = Readonly<
  Record<'earnedTinybar' | 'reserveTinybar' | 'lockedTinybar' | 'shortfallTinybar', bigint>
>

/** Reads of the access contract. Each method throws ChainUnavailable or ContractAbsent. */
export type AccessContract = {
  /** The configured address; none before the contract is deployed. */
  readonly address: Hex | undefined
  /** Whether it is this contract's address or a previous one's (A23). */
  isOwn(address: Hex): boolean
  /** Returns once chain and contract are the expected ones; throws otherwise. */
  ensureDeployed(): Promise<void>
  windowOf(agent: Hex, atSeconds: number): Promise<AccessWindow>
  /** Every offer so far, oldest first; the last one is current. Never empty. */
  offers(): Promise<readonly Offer[]>
  /** Those that were read before; asks for nothing. */
  knownOffers(): readonly Offer[]
  areSalesPaused(): Promise<boolean>
  /** Whether that account may forward payments. */
  isForwarder(account: Hex): Promise<boolean>
  /** Whether that account may record usage. */
  isRecorder(account: Hex): Promise<boolean>
  /** Whether that reference was consumed, here or on a previous contract (A23), and for whom. */
  paymentOf(paymentReference: Hex): Promise<{ readonly isUsed: boolean; readonly agent: Hex }>
  /** How many further renewals the free reserve can arm, for anyone. */
  renewalsReserveCanArm(): Promise<number>
  /** The seller's part of the contract's books. */
  books(): Promise<SellerBooks>
  /** Call it after a write of this process: discards kept reads. */
  wrote(): void
}

/** The ledger was unreachable, answered nonsense, or is not the configured chain. */
export class ChainUnavailable extends Error {
  override readonly name = 'ChainUnavailable'
  readonly isAnotherChain: boolean

  constructor(message: string, options: ErrorOptions & { readonly isAnotherChain?: boolean } = {}) {
    super(message, options)
    this.isAnotherChain = options.isAnotherChain ?? false
  }
}

/** No contract address is configured, or there is no code at it. */
export class ContractAbsent extends Error {
  override readonly name = 'ContractAbsent'
}

/** One x402 payment to be forwarded into the contract. */
export type PurchaseOrder = {
  readonly agent: Hex
  readonly offerId: number
  /** Second in which the payment became valid, as in its transaction id, Unix seconds. */
  readonly paidAtSeconds: number
  /** Calls that this payment serves: 1 from the gate, 0 from the sweep. */
  readonly calls: 0 | 1
  readonly paymentReference: Hex
  /** The whole purchase, forwarded with the call, tinybar. */
  readonly valueTinybar: bigint
}

export type Rehearsal =
  | { readonly kind: 'ready' }
  | { readonly kind: 'already-used' }
  /** payTo lacks the float of one purchase plus one forward's gas. */
  | { readonly kind: 'float-low' }
  /** The contract would revert; `reason` is the name of its error. */
  | { readonly kind: 'refused'; readonly reason: string }

export type OpenOutcome =
  | {
      readonly kind: 'opened'
      readonly transactionHash: Hex
      /** Whether an open window was extended rather than a new one opened. */
      readonly isTopUp: boolean
      /** The window as the receipt's events show it. */
      readonly window: AccessWindow
    }
  /** It was opened before: by the sweep, another replica, or an earlier attempt of this process. */
  | { readonly kind: 'already-used'; readonly agent: Hex }
  | { readonly kind: 'refused'; readonly reason: string }

export type Rearming = 'reap' | 'poke'

export type RearmOutcome =
  | { readonly kind: 'armed'; readonly transactionHash: Hex }
  /** Sent, but no renewal is armed: `code` is Hedera's, or one of the contract's own below 1. */
  | { readonly kind: 'not-armed'; readonly transactionHash: Hex; readonly code: number }
  /** Not sent, because the contract would refuse, or sent without a receipt. */
  | { readonly kind: 'left' }

/** Transactions from payTo's key, one after the other. Each method throws ChainUnavailable. */
export type ContractSender = {
  /** payTo's EVM address. */
  readonly address: Hex
  /** Runs `openPaid` without sending it (A3). */
  rehearse(order: PurchaseOrder): Promise<Rehearsal>
  /** Sends `openPaid` and waits for its receipt. May be repeated: the payment reference makes a double send harmless (A14). */
  openPaid(order: PurchaseOrder): Promise<OpenOutcome>
  /** Re-arms the renewal of the agent's slot: `reap` if the pending one is overdue, `poke` if none is pending. */
  rearm(agent: Hex, how: Rearming): Promise<RearmOutcome>
  /** Reads in advance what a rehearsal needs. Never rejects. */
  warm(): Promise<void>
  /** What payTo holds, tinybar. */
  floatTinybar(): Promise<bigint>
  /** Gas of one forward at the quoted price, tinybar. */
  forwardGasTinybar(): Promise<bigint>
  close(): Promise<void>
}

/** One successful native transfer to payTo, as the mirror node reports it. */
export type PayToCredit = {
  /** `0.0.<fee payer>@<seconds>.<nanoseconds, nine digits>`; a child transaction's is followed by `/<its number>`. */
  readonly transactionId: string
  /** keccak256 of the transaction id, as the contract keys payments (A2). */
  readonly paymentReference: Hex
  /** The later of the start of its validity and 180 s before its consensus, Unix seconds (A4). */
  readonly paidAtSeconds: number
  /** `<seconds>.<nanoseconds>`, the order of the log. */
  readonly consensusTimestamp: string
  readonly consensusSeconds: number
  readonly memo: string
  readonly amountTinybar: bigint
  /** The one account that paid all of it, fees aside, `0.0.x`; none if several did. */
  readonly payer: string | undefined
}

/** One successful native transfer from payTo. */
export type PayToDebit = {
  readonly consensusTimestamp: string
  /** The transaction that this transfer refunds, if its memo names one (A15). */
  readonly refundOf: string | undefined
}

/** One successful transaction by which payTo paid others. */
export type PayToForward = {
  readonly consensusTimestamp: string
  /** `0.0.x`. */
  readonly receivers: readonly string[]
}

/** The mirror node's log of payTo's transfers, oldest first, read page by page. Everything throws x402's LedgerUnavailable. */
export type PaymentLog = {
  creditsAfter(consensusTimestamp: string): AsyncIterable<PayToCredit>
  debitsAfter(consensusTimestamp: string): AsyncIterable<PayToDebit>
  /** Accounts, except the network's own, that payTo paid in transactions of its key, as it forwards purchases. */
  forwardsAfter(consensusTimestamp: string): AsyncIterable<PayToForward>
  /** The address of an account, if it is a contract. */
  contractAddressOf(accountId: string): Promise<Hex | undefined>
  /** How far the mirror node has read the ledger, and what time it is by its own clock. */
  ledgerTime(): Promise<LedgerTime>
  /** The EVM address that an account's payments buy for. */
  evmAddressOf(accountId: string): Promise<Hex>
}

/** The accounts behind agents, as the mirror node shows them now. Throws x402's LedgerUnavailable. */
export type AgentAccounts = Pick<AccountDirectory, 'account' | 'refresh'>

/** Nonces and tokens with which guarded agents prove themselves, made from a key that replicas share (A17). */
export type SessionKeys = {
  /** A nonce for EIP-4361, bound to agent and time of issue. */
  nonceOf(agent: Hex, issuedAt: string): string
  isNonce(proof: {
    readonly agent: Hex
    readonly issuedAt: string
    readonly nonce: string
  }): boolean
  tokenOf(agent: Hex, expiresAtSeconds: number): string
  /** Takes at most 10 µs. */
  judgeToken(call: {
    readonly agent: Hex
    readonly token: string
    readonly nowSeconds: number
  }): 'valid' | 'expired' | 'invalid'
}

/** What a granted call receives: any JSON. */
export type PaidResourceReader = {
  /** Throws ResourceUnavailable; nothing has been metered or settled by then. */
  read(): Promise<unknown>
  /** Begins the next read if calls share it, so that it leaves together with the read of a window. */
  warm?(): void
}

/** The resource's source was unreachable or slow, too large, or not JSON. */
export class ResourceUnavailable extends Error {
  override readonly name = 'ResourceUnavailable'
}
