import type { Address, Hex } from 'viem'
import type { TransactionSignature } from '../ledger/account-key.ts'
import type { Entity } from '../ledger/account-registry.ts'
import type { AssessedFee } from '../ledger/custom-fees.ts'
import type { TransactionRecord } from '../ledger/records.ts'
import type { SignedTransaction } from '../ledger/signed-transaction.ts'
import type { WaitingTransaction } from '../ledger/waiting-transaction.ts'

/** What an address gains or loses, tinybar. */
export type Move = readonly [address: Address, tinybar: bigint]

/** What a transaction does once consensus has accepted it. */
export type Plan = {
  /** What existing accounts lose and gain. */
  moves: Move[]
  /** What the token service is asked to do, and the addresses of accounts by number that `apply` creates before. */
  tokens?: { call: Hex; newcomers?: readonly Address[]; withoutFees?: Hex | undefined } | undefined
  /** Custom fees of tokens, whose moves are among the others. */
  customFees?: readonly AssessedFee[]
  /** What is taken by allowance, as it was signed. */
  approved?: readonly Move[]
  /** How many associations the payer is charged for besides. */
  associations?: number
  /** Makes what else changes; returns what moves to new accounts, and what its record tells. */
  apply: (consensusNs: bigint) => Done | Promise<Done>
}

export type Done = { moves: Move[]; entityId?: string } & Pick<
  TransactionRecord,
  'created' | 'signedSchedule' | 'topicMessage'
>

/** What is planned, and for whom. */
export type PlanRequest = {
  transaction: SignedTransaction
  payer: Entity
  /** Those of some signatures that a scheduled transaction needs. */
  findNeeded: (
    waiting: WaitingTransaction,
    signatures: readonly TransactionSignature[],
  ) => Promise<TransactionSignature[]>
}
