import { proto } from '@hiero-ledger/proto'
import type { AccountKey, TransactionSignature } from './account-key.ts'
import type { Entity } from './account-registry.ts'
import { type Content, readContent, type SignedTransaction } from './signed-transaction.ts'

/** A transaction that waits, or did. */
export type WaitingTransaction = {
  number: number
  memo: string
  adminKey: AccountKey | null
  creator: Entity
  payer: Entity
  /** The body as it was scheduled. */
  body: Uint8Array
  /** The transaction with all signatures so far, without its content: that is in `body`, which can be stored. */
  transaction: Omit<SignedTransaction, 'content'>
  signatures: { consensusNs: bigint; signature: TransactionSignature }[]
  waitsForExpiry: boolean
  createdNs: bigint
  expiryNs: bigint
  executedNs: bigint | undefined
  /** Whether its time came, executed or not. */
  isOver: boolean
}

/** What the waiting transaction asks for, as it was judged when it was scheduled. */
export const scheduledContent = ({ body }: WaitingTransaction): Content =>
  readContent(proto.SchedulableTransactionBody.decode(body)) as Content
