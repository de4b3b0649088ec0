import type { Address, Hex } from 'viem'
import type { InnerReceipt } from './evm.ts'

/** Weibar per tinybar: JSON-RPC speaks weibar (18 decimals), the EVM tinybar (8). */
export const WEIBAR_PER_TINYBAR = 10_000_000_000n

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
  /** The network refuses EIP-2930 access lists that are not empty. */
  hasAccessList: boolean
  v: bigint
  r: Hex
  s: Hex
}

/** An EVM transaction that is in a block. */
export type EvmTransaction = {
  /** Hash outside: Keccak-256 of the raw transaction; for scheduled calls the inner one. */
  hash: Hex
  from: Address
  envelope: Envelope
  /** As anvil gave it: tinybar, inner hashes. */
  receipt: InnerReceipt
  blockNumber: number
  consensusNs: bigint
  recordedAtMs: number
  gasPriceTinybar: bigint
  /** True when the network made the call for a schedule. */
  isScheduled: boolean
  /** Name of the response code: `SUCCESS`, `CONTRACT_REVERT_EXECUTED`, or why value could not be moved. */
  result: string
  /** What the execution reverted with, for a failed one. */
  revertReason: Hex | undefined
}
