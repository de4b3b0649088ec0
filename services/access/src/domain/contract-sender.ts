/** The port through which the domain sends transactions from payTo's key. */
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
