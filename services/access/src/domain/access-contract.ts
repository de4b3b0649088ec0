/** The ports through which the domain reads the access contract and sends it transactions from payTo's key. */
import type { AccessWindow, Hex } from './access-window.ts'

/** Terms of a purchase, as the contract keeps them. */
export type Offer = {
  readonly offerId: number
  /** Price of one period, tinybar. */
  readonly priceTinybar: bigint
  readonly periodSeconds: number
  readonly callsAllowed: number
  /** Second from which purchases have these terms, Unix seconds. */
  readonly startsAtSeconds: number
  /** Second from which no new money comes in at these terms (A26), Unix seconds; 0 for never. */
  readonly retiredAtSeconds: number
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
  /** True for this contract's address and for a previous one's (A23). */
  isOwn(address: Hex): boolean
  /** Returns once chain and contract are the expected ones; throws otherwise. */
  ensureDeployed(): Promise<void>
  readWindow(agent: Hex, atSeconds: number): Promise<AccessWindow>
  /** Every offer so far, oldest first; the last one is current. Never empty. */
  offers(): Promise<readonly Offer[]>
  /** Those that were read before; asks for nothing. */
  knownOffers(): readonly Offer[]
  areSalesPaused(): Promise<boolean>
  /** True if that account may forward payments. */
  isForwarder(account: Hex): Promise<boolean>
  /** True if that account may record usage. */
  isRecorder(account: Hex): Promise<boolean>
  /** Finds out if that reference was consumed, here or on a previous contract (A23), and for whom. */
  findPayment(paymentReference: Hex): Promise<{ readonly isUsed: boolean; readonly agent: Hex }>
  /** Counts the further renewals that the free reserve can arm, for anyone. */
  renewalsReserveCanArm(): Promise<number>
  /** The seller's part of the contract's books. */
  books(): Promise<SellerBooks>
  /** Call it after a write of this process: discards kept reads. */
  wrote(): void
}

/**
 * The current contract with the payments of all, those that sold for the same `PAY_TO` before it (A23) included: a reference that any of them consumed is used. If one of them cannot be
 * read, no payment is judged.
 */
export function afterPreviousContracts(
  contract: AccessContract,
  previous: readonly AccessContract[],
): AccessContract {
  return {
    ...contract,
    isOwn: (address) => [contract, ...previous].some((each) => each.isOwn(address)),
    async findPayment(paymentReference) {
      const [own, ...before] = await Promise.all([
        contract.findPayment(paymentReference),
        ...previous.map((each) => each.findPayment(paymentReference)),
      ])
      return before.find(({ isUsed }) => isUsed) ?? own
    },
  }
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
  /** `gas`: what its forward may use at most. */
  | { readonly kind: 'ready'; readonly gas: bigint }
  | { readonly kind: 'already-used' }
  /** payTo lacks the float of one purchase plus one forward's gas. */
  | { readonly kind: 'float-low' }
  /** The contract would revert; `reason` is the name of its error. */
  | { readonly kind: 'refused'; readonly reason: string }

export type OpenOutcome =
  | {
      readonly kind: 'opened'
      readonly transactionHash: Hex
      /** True if an open window was extended, false if a new one was opened. */
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
  /** Reads what payTo holds, tinybar. */
  floatTinybar(): Promise<bigint>
  /** Gas of one forward at the quoted price, tinybar. */
  forwardGasTinybar(): Promise<bigint>
  close(): Promise<void>
}
