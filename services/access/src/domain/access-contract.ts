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
}

/** Whether a payment reference was consumed, and for whom. */
export type ConsumedPayment = { readonly isUsed: boolean; readonly agent: Hex }

/** Reads of the access contract. Each method throws ChainUnavailable or ContractAbsent. */
export type AccessContract = {
  /** The configured address; none before the contract is deployed. */
  readonly address: Hex | undefined
  /** Returns once chain and contract are the expected ones; throws otherwise. */
  ensureDeployed(): Promise<void>
  windowOf(agent: Hex, atSeconds: number): Promise<AccessWindow>
  /** Every offer so far, oldest first; the last one is current. Never empty. */
  offers(): Promise<readonly Offer[]>
  areSalesPaused(): Promise<boolean>
  paymentOf(paymentReference: Hex): Promise<ConsumedPayment>
  /** How many further renewals the free reserve can arm, for anyone. */
  renewalsReserveCanArm(): Promise<number>
}

/** The ledger was unreachable, answered nonsense, or is another chain than the configured one. */
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
