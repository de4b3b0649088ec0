/** The port through which the domain reads the access contract. */
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
