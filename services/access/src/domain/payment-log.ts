/** The port through which the domain reads payTo's transfers at the mirror node. */
import type { LedgerTime } from '@tallystick/x402/hedera'
import type { Hex } from './access-window.ts'

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
  readonly refundedPayment: string | undefined
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
  /** Finds the address of an account, if it is a contract. */
  findContractAddress(accountId: string): Promise<Hex | undefined>
  /** Reads how far the mirror node has read the ledger, and what time it is by its own clock. */
  ledgerTime(): Promise<LedgerTime>
  /** Reads the EVM address that an account's payments buy for. */
  readEvmAddress(accountId: string): Promise<Hex>
}
