import type { Hex } from 'viem'

/** What happened to whom: one line of a record's transfer list. */
export type Transfer = { account: string; amountTinybar: bigint; isApproval: boolean }

/** Identity of a transaction: who pays and from when it is valid. */
export type TransactionId = {
  /** Payer, `0.0.x`. */
  account: string
  /** Start of validity, nanoseconds since 1970. */
  validStartNs: bigint
  scheduled: boolean
  nonce: number
}

/** One transaction that reached consensus, whatever its result. */
export type TransactionRecord = {
  consensusNs: bigint
  /** When it became knowable, milliseconds of ledger time: lags count from here. */
  recordedAtMs: number
  name: 'CRYPTOTRANSFER' | 'ETHEREUMTRANSACTION' | 'CONTRACTCALL' | 'CRYPTOCREATEACCOUNT'
  id: TransactionId
  /** Name of the response code, e.g. `SUCCESS`. */
  result: string
  chargedFeeTinybar: bigint
  maxFeeTinybar: bigint
  memo: Uint8Array
  /** Node that submitted it, `0.0.x`; null for what the network started itself. */
  node: string | null
  /** SHA-384 of the signed transaction, or what stands for it. */
  hash: Uint8Array
  validDurationSeconds: number | null
  entityId: string | null
  /** Undefined until it was asked for: what contracts paid each other is read from the execution's trace. */
  transfers: readonly Transfer[] | undefined
  /** EVM transactions only: hash outside, and hash and number of the block inside. */
  evm?: { hash: Hex; innerHash: Hex; blockNumber: number }
}

/** `0.0.x-sss-nnnnnnnnn`, the mirror node's form of a transaction id. */
export function formatTransactionId(id: TransactionId): string {
  const nanoseconds = (id.validStartNs % 1_000_000_000n).toString().padStart(9, '0')
  return `${id.account}-${id.validStartNs / 1_000_000_000n}-${nanoseconds}`
}
