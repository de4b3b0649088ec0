import type { EvmTransaction } from './evm-transaction.ts'

/** EVM transactions by every name that they go by. */
export type TransactionIndex = {
  add(transaction: EvmTransaction): void
  /** By the hash that the sender computed. */
  byHash(hash: string): EvmTransaction | undefined
  /** By the hash inside anvil. */
  byInnerHash(hash: string): EvmTransaction | undefined
  /** The transaction in a block; blocks hold at most one. */
  inBlock(blockNumber: number): EvmTransaction | undefined
  /** The block with that hash, if it holds a transaction. */
  blockWithHash(blockHash: string): EvmTransaction | undefined
}

/** An empty index. */
export function createTransactionIndex(): TransactionIndex {
  const byHash = new Map<string, EvmTransaction>()
  const byInnerHash = new Map<string, EvmTransaction>()
  const byBlock = new Map<number, EvmTransaction>()
  const byBlockHash = new Map<string, EvmTransaction>()
  return {
    add(transaction) {
      byHash.set(transaction.hash, transaction)
      byInnerHash.set(transaction.receipt.transactionHash, transaction)
      byBlock.set(transaction.blockNumber, transaction)
      byBlockHash.set(transaction.receipt.blockHash, transaction)
    },
    byHash: (hash) => byHash.get(hash.toLowerCase()),
    byInnerHash: (hash) => byInnerHash.get(hash.toLowerCase()),
    inBlock: (blockNumber) => byBlock.get(blockNumber),
    blockWithHash: (blockHash) => byBlockHash.get(blockHash.toLowerCase()),
  }
}
