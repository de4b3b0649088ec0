import type { Hex } from './access-window.ts'

/** One successful native transfer to payTo, as the mirror node tells it. */
export type PayToCredit = {
  /** `0.0.<fee payer>@<seconds>.<nanoseconds, nine digits>`. */
  readonly transactionId: string
  /** keccak256 of the transaction id, as the contract keys payments (A2). */
  readonly paymentReference: Hex
  /** Second in which the transaction became valid, Unix seconds. */
  readonly paidAtSeconds: number
  /** `<seconds>.<nanoseconds>`, the order of the log. */
  readonly consensusTimestamp: string
  readonly consensusSeconds: number
  readonly memo: string
  readonly amountTinybar: bigint
  /** The one account that paid all of it, fees aside, `0.0.x`; none where several did. */
  readonly payer: string | undefined
}

/** One successful native transfer from payTo. */
export type PayToDebit = {
  readonly consensusTimestamp: string
  /** The transaction that this transfer pays back, where its memo says so (A15). */
  readonly refundOf: string | undefined
}

/** The mirror node's log of payTo's transfers, oldest first, read page by page. Everything throws MirrorUnavailable. */
export type PaymentLog = {
  creditsAfter(consensusTimestamp: string): AsyncIterable<PayToCredit>
  debitsAfter(consensusTimestamp: string): AsyncIterable<PayToDebit>
  /** Consensus time up to which the mirror node has read the ledger, Unix seconds. */
  latestConsensusSeconds(): Promise<number>
  /** The EVM address that an account's payments buy for. */
  evmAddressOf(accountId: string): Promise<Hex>
}

/** The mirror node was unreachable or slow, or answered nonsense. */
export class MirrorUnavailable extends Error {
  override readonly name = 'MirrorUnavailable'
}
