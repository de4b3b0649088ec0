// How the ledger looks from outside: tinybar become weibar, anvil's hashes become the hashes that senders know, and the
// system contracts' own logs, which the network does not have, are left out.

import { type Hex, numberToHex } from 'viem'
import { longZeroNumber } from '../ledger/entity-id.ts'
import type { InnerBlock, InnerLog } from '../ledger/evm.ts'
import { type EvmTransaction, WEIBAR_PER_TINYBAR } from '../ledger/evm-transaction.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { CHAIN_ID, TRANSACTION_GAS_MAX } from '../ledger/network.ts'

/** A JSON object on its way out. */
export type JsonObject = { [name: string]: unknown }

/** Entities up to this number are the network's own, including its system contracts. */
const SYSTEM_NUMBER_MAX = 1_000

/** Tinybar as weibar, in hex. */
export function toWeibar(tinybar: bigint | Hex): Hex {
  return numberToHex(BigInt(tinybar) * WEIBAR_PER_TINYBAR)
}

/** A log with the hash that the sender knows. */
export function toOuterLog(log: InnerLog, hash: Hex): JsonObject {
  return { ...log, transactionHash: hash, removed: false }
}

/** Whether a log exists on the network: those of the emulated system contracts do not. */
export function isNetworkLog(log: InnerLog): boolean {
  const number = longZeroNumber(log.address)
  return number === undefined || number > SYSTEM_NUMBER_MAX
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
    // The network charges its own price, whatever was offered.
    gasPrice: toWeibar(transaction.gasPriceTinybar),
    value: numberToHex(envelope.valueWeibar - (envelope.valueWeibar % WEIBAR_PER_TINYBAR)),
    input: envelope.data,
    type: numberToHex(envelope.type),
    chainId: numberToHex(CHAIN_ID),
    v: numberToHex(envelope.v),
    r: envelope.r,
    s: envelope.s,
    ...(envelope.type === 0 ? {} : { accessList: [], yParity: numberToHex(envelope.v % 2n) }),
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
    contractAddress: receipt.contractAddress,
    cumulativeGasUsed: receipt.cumulativeGasUsed,
    gasUsed: receipt.gasUsed,
    effectiveGasPrice: toWeibar(transaction.gasPriceTinybar),
    logs: receipt.logs.filter(isNetworkLog).map((log) => toOuterLog(log, transaction.hash)),
    logsBloom: receipt.logsBloom,
    status: receipt.status,
    type: numberToHex(transaction.envelope.type),
    ...(transaction.revertReason === undefined ? {} : { revertReason: transaction.revertReason }),
  }
}

/** A block as shown by `eth_getBlockBy…`, with full transactions or only their hashes. */
export function toOuterBlock(ledger: Ledger, block: InnerBlock, isFull: boolean): JsonObject {
  const transaction = ledger.transactions.inBlock(Number(block.number))
  const shown = transaction === undefined ? [] : [transaction]
  return {
    ...block,
    // The public relay's header carries the price in tinybar, so fees must never be derived from it.
    baseFeePerGas: numberToHex(ledger.settings.gasPriceTinybar),
    gasLimit: numberToHex(TRANSACTION_GAS_MAX),
    transactions: isFull ? shown.map(toOuterTransaction) : shown.map(({ hash }) => hash),
  }
}
