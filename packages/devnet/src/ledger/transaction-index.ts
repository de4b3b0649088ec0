// The EVM's transactions, as the edges look them up.

import type { AccessList, Address, Hex } from 'viem'
import type { InnerReceipt } from '../anvil/anvil-client.ts'
import type { Entity } from './account-registry.ts'

/** The signed envelope as its sender made it; amounts in weibar. */
export type Envelope = {
  type: 0 | 1 | 2
  chainId: number | undefined
  nonce: number
  gas: bigint
  gasPriceWeibar: bigint | undefined
  maxFeePerGasWeibar: bigint | undefined
  maxPriorityFeePerGasWeibar: bigint | undefined
  valueWeibar: bigint
  to: Address | null
  data: Hex
  accessList: AccessList
  v: bigint
  r: Hex
  s: Hex
}

/** An EVM transaction in a block. */
export type EvmTransaction = {
  /** The hash known outside: Keccak-256 of the raw transaction; for scheduled calls, the inner one. */
  hash: Hex
  from: Address
  envelope: Envelope
  /** As given by anvil: tinybar, inner hashes. */
  receipt: InnerReceipt
  blockNumber: number
  consensusNs: bigint
  gasPriceTinybar: bigint
  /** True when the network made the call for a schedule. */
  isScheduled: boolean
  /** True for a native transaction that left logs of tokens: to the EVM it is the transaction that they belong to. */
  isSynthetic?: boolean
  /** What the payer of its EthereumTransaction paid for its gas. */
  sponsored?: { payer: Entity; tinybar: bigint }
  /** Name of the response code: `SUCCESS`, `CONTRACT_REVERT_EXECUTED`, or why value could not be moved. */
  result: string
  /** The revert data of a failed execution, or why it halted in hex. */
  revertReason?: Hex | undefined
  /** The network's name of why it halted, if it did. */
  haltReason?: string | undefined
  /** What a ContractCall returned. */
  returned?: Hex | undefined
}

/** An Ethereum transaction that consensus refused. */
export type RefusedTransaction = Pick<
  EvmTransaction,
  'hash' | 'from' | 'envelope' | 'consensusNs' | 'result'
>

/** How many refused ones are remembered: whoever asks does so within seconds. */
const REFUSED_KEPT = 1_000

/** EVM transactions by hash and by block. */
export function createTransactionIndex() {
  const state = {
    byHash: new Map<string, EvmTransaction>(),
    byBlock: new Map<number, EvmTransaction[]>(),
    refused: new Map<string, RefusedTransaction>(),
  }
  const inBlock = (number: number): readonly EvmTransaction[] => state.byBlock.get(number) ?? []
  return {
    state,
    /** Remembers an Ethereum transaction that consensus refused: it has a hash and a result, but no block. */
    refuse(transaction: RefusedTransaction): void {
      const { refused } = state
      refused.set(transaction.hash, transaction)
      const [oldest] = refused.keys()
      if (refused.size > REFUSED_KEPT && oldest !== undefined) refused.delete(oldest)
    },
    /** A refused one, by its hash, unless it has run since. */
    refusedByHash: (hash: string) =>
      state.byHash.has(hash.toLowerCase()) ? undefined : state.refused.get(hash.toLowerCase()),
    add(transaction: EvmTransaction): void {
      state.byHash.set(transaction.hash, transaction)
      state.byBlock.set(transaction.blockNumber, [...inBlock(transaction.blockNumber), transaction])
    },
    /** Forgets a transaction with its receipt and logs, by its outer hash. */
    forget(hash: string | undefined): void {
      const transaction = state.byHash.get(hash ?? '')
      if (transaction === undefined) return
      state.byHash.delete(transaction.hash)
      state.byBlock.delete(transaction.blockNumber)
    },
    /** By the hash that the sender computed. */
    byHash: (hash: string) => state.byHash.get(hash.toLowerCase()),
    /** In the order of their indexes. */
    inBlock,
  }
}
