import type { AccessWindow, Hex } from './access-window.ts'

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
      /** The window as the receipt's events tell it. */
      readonly window: AccessWindow
    }
  /** Somebody opened it before: this service's sweep, another replica, or this process in an earlier attempt. */
  | { readonly kind: 'already-used'; readonly agent: Hex }
  | { readonly kind: 'refused'; readonly reason: string }

/** Transactions from payTo's key, one after the other. Each method throws ChainUnavailable. */
export type ContractSender = {
  /** payTo's EVM address. */
  readonly address: Hex
  /** Runs `openPaid` without sending it (A3). */
  rehearse(order: PurchaseOrder): Promise<Rehearsal>
  /** Sends `openPaid` and waits for its receipt. May be repeated: the payment reference makes a double send harmless (A14). */
  openPaid(order: PurchaseOrder): Promise<OpenOutcome>
  /** Gives up an overdue schedule and arms anew; a schedule that is not overdue is left alone, unsent. */
  reap(
    agent: Hex,
  ): Promise<{ readonly kind: 'reaped'; readonly transactionHash: Hex } | { readonly kind: 'left' }>
  /** What payTo holds, tinybar. */
  floatTinybar(): Promise<bigint>
  /** Gas of one forward at the quoted price, tinybar. */
  forwardGasTinybar(): Promise<bigint>
  close(): Promise<void>
}
