// How the ledger looks from outside: tinybar become weibar, anvil's hashes become the hashes that senders know, and the
// system contracts' own logs, which the network does not have, are left out.

import { type Hex, numberToHex, zeroAddress, zeroHash } from 'viem'
import type { InnerBlock } from '../anvil/anvil-client.ts'
import { WEIBAR_PER_TINYBAR } from '../ledger/evm-transaction.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { BLOCK_GAS_MAX, CHAIN_ID } from '../ledger/network.ts'
import { computeBloom, networkLogs } from '../ledger/network-logs.ts'
import type { EvmTransaction } from '../ledger/transaction-index.ts'

/** A JSON object on its way out. */
export type JsonObject = { [name: string]: unknown }

/** What the relay shows as a receipt's state root: that of an empty trie. */
const EMPTY_ROOT = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'

/** What the relay writes into every header: the network's gas in a block, and nothing that comes of mining. */
const HEADER = {
  blobGasUsed: undefined,
  difficulty: '0x0',
  excessBlobGas: undefined,
  extraData: '0x',
  gasLimit: numberToHex(BLOCK_GAS_MAX),
  miner: zeroAddress,
  mixHash: zeroHash,
  nonce: '0x0000000000000000',
  parentBeaconBlockRoot: undefined,
  totalDifficulty: '0x0',
  withdrawalsRoot: zeroHash,
}

/** Tinybar as weibar, in hex. */
export function toWeibar(tinybar: bigint | Hex): Hex {
  return numberToHex(BigInt(tinybar) * WEIBAR_PER_TINYBAR)
}

/** The logs of a transaction, numbered in its block, with the hash that the sender knows. */
export function outerLogs(transaction: EvmTransaction): JsonObject[] {
  return networkLogs(transaction).map((log, index) => ({
    ...log,
    logIndex: numberToHex(index),
    transactionHash: transaction.hash,
    removed: false,
  }))
}

/** A transaction as shown by `eth_getTransactionByHash`. */
export function toOuterTransaction(transaction: EvmTransaction): JsonObject {
  const { envelope, receipt } = transaction
  return {
    blockHash: receipt.blockHash,
    blockNumber: receipt.blockNumber,
    transactionIndex: receipt.transactionIndex,
    hash: transaction.hash,
    from: transaction.from,
    to: envelope.to,
    nonce: numberToHex(envelope.nonce),
    gas: numberToHex(envelope.gas),
    // What was offered; the network charges its own price.
    gasPrice: numberToHex(envelope.gasPriceWeibar ?? 0n),
    value: numberToHex(envelope.valueWeibar),
    input: envelope.data,
    type: numberToHex(envelope.type),
    chainId: numberToHex(CHAIN_ID),
    v: numberToHex(envelope.v),
    r: numberToHex(BigInt(envelope.r)),
    s: numberToHex(BigInt(envelope.s)),
    ...(envelope.type === 0
      ? {}
      : { accessList: envelope.accessList, yParity: numberToHex(envelope.v % 2n) }),
    ...(envelope.type === 2
      ? {
          maxFeePerGas: numberToHex(envelope.maxFeePerGasWeibar ?? 0n),
          maxPriorityFeePerGas: numberToHex(envelope.maxPriorityFeePerGasWeibar ?? 0n),
        }
      : {}),
  }
}

/** A receipt as shown by `eth_getTransactionReceipt`. */
export function toOuterReceipt(transaction: EvmTransaction): JsonObject {
  const { receipt } = transaction
  return {
    blockHash: receipt.blockHash,
    blockNumber: receipt.blockNumber,
    transactionHash: transaction.hash,
    transactionIndex: receipt.transactionIndex,
    from: transaction.from,
    to: transaction.envelope.to,
    contractAddress: receipt.contractAddress ?? transaction.envelope.to,
    cumulativeGasUsed: receipt.cumulativeGasUsed,
    gasUsed: receipt.gasUsed,
    effectiveGasPrice: toWeibar(transaction.gasPriceTinybar),
    logs: outerLogs(transaction),
    logsBloom: computeBloom(networkLogs(transaction)),
    root: EMPTY_ROOT,
    status: receipt.status,
    type: numberToHex(transaction.envelope.type),
    ...(transaction.revertReason === undefined ? {} : { revertReason: transaction.revertReason }),
  }
}

/** A block as shown by `eth_getBlockBy…`, with full transactions or only their hashes. */
export function toOuterBlock(ledger: Ledger, block: InnerBlock, isFull: boolean): JsonObject {
  const shown = ledger.transactions.inBlock(Number(block.number))
  const { gasPriceTinybar } = ledger.pricesAt(ledger.evm.blockRange(Number(block.number)).to)
  const { isOldRelay } = ledger.faults
  return {
    ...block,
    baseFeePerGas: isOldRelay ? numberToHex(gasPriceTinybar) : toWeibar(gasPriceTinybar),
    ...HEADER,
    logsBloom: computeBloom(shown.flatMap(networkLogs)),
    transactions: isFull ? shown.map(toOuterTransaction) : shown.map(({ hash }) => hash),
  }
}
