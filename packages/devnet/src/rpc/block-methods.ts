// Reads of history: blocks, transactions and receipts.

import type { Hex } from 'viem'
import { numberToHex } from 'viem'
import type { EvmTransaction } from '../ledger/evm-transaction.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { blockNumberOf, visibleBlock } from './block-tag.ts'
import {
  type InnerBlock,
  type JsonObject,
  toOuterBlock,
  toOuterReceipt,
  toOuterTransaction,
} from './outer-view.ts'
import { hashParameter, type RpcMethods, required } from './rpc-method.ts'

/** The reads of history. */
export function blockMethods(ledger: Ledger): RpcMethods {
  const byHash = (p: readonly unknown[]) => visibleTransaction(ledger, hashParameter(p, 0))
  const numbered = (p: readonly unknown[]) => blockNumberOf(ledger, required(p, 0))
  const hashed = (p: readonly unknown[]) => numberOfHash(ledger, hashParameter(p, 0))
  return {
    eth_blockNumber: () => numberToHex(visibleBlock(ledger)),
    eth_getBlockByNumber: (p) => block(ledger, numbered(p), p[1] === true),
    eth_getBlockByHash: async (p) => block(ledger, await hashed(p), p[1] === true),
    eth_getBlockTransactionCountByNumber: (p) => transactionCount(ledger, numbered(p)),
    eth_getBlockTransactionCountByHash: async (p) => transactionCount(ledger, await hashed(p)),
    eth_getBlockReceipts: async (p) => {
      const tag = required(p, 0)
      const isHash = typeof tag === 'string' && /^0x[0-9a-fA-F]{64}$/.test(tag)
      const number = isHash ? await numberOfHash(ledger, tag) : blockNumberOf(ledger, tag)
      if (number === undefined) return null
      return transactionsIn(ledger, number).map(toOuterReceipt)
    },
    eth_getTransactionByHash: (p) => mapped(byHash(p), toOuterTransaction),
    eth_getTransactionReceipt: (p) => mapped(byHash(p), toOuterReceipt),
    eth_getTransactionByBlockNumberAndIndex: (p) =>
      mapped(atIndex(ledger, numbered(p), required(p, 1)), toOuterTransaction),
    eth_getTransactionByBlockHashAndIndex: async (p) =>
      mapped(atIndex(ledger, await hashed(p), required(p, 1)), toOuterTransaction),
    eth_getUncleByBlockHashAndIndex: () => null,
    eth_getUncleByBlockNumberAndIndex: () => null,
    eth_getUncleCountByBlockHash: () => '0x0',
    eth_getUncleCountByBlockNumber: () => '0x0',
  }
}

/** The transaction with that hash, once readers may see it. */
function visibleTransaction(ledger: Ledger, hash: string): EvmTransaction | undefined {
  const transaction = ledger.transactions.byHash(hash)
  if (transaction === undefined) return undefined
  return transaction.blockNumber <= visibleBlock(ledger) ? transaction : undefined
}

function mapped(
  transaction: EvmTransaction | undefined,
  show: (transaction: EvmTransaction) => JsonObject,
): JsonObject | null {
  return transaction === undefined ? null : show(transaction)
}

async function block(
  ledger: Ledger,
  number: number | undefined,
  isFull: boolean,
): Promise<JsonObject | null> {
  if (number === undefined) return null
  const found = await ledger.anvil.call('eth_getBlockByNumber', [numberToHex(number), false])
  return found === null ? null : toOuterBlock(ledger, { block: found as InnerBlock, isFull })
}

/** Number of the visible block with that hash. */
export async function numberOfHash(ledger: Ledger, hash: string): Promise<number | undefined> {
  const found = (await ledger.anvil.call('eth_getBlockByHash', [hash, false])) as {
    number: Hex
  } | null
  if (found === null || Number(found.number) > visibleBlock(ledger)) return undefined
  return Number(found.number)
}

function transactionsIn(ledger: Ledger, number: number): EvmTransaction[] {
  const transaction = ledger.transactions.inBlock(number)
  return transaction === undefined ? [] : [transaction]
}

function transactionCount(ledger: Ledger, number: number | undefined): Hex | null {
  return number === undefined ? null : numberToHex(transactionsIn(ledger, number).length)
}

function atIndex(
  ledger: Ledger,
  number: number | undefined,
  index: unknown,
): EvmTransaction | undefined {
  return number === undefined ? undefined : transactionsIn(ledger, number)[Number(index)]
}
