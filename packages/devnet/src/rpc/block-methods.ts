// Reads of history: blocks, transactions and receipts.

import { type Hex, numberToHex } from 'viem'
import type { InnerBlock } from '../anvil/anvil-client.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { EvmTransaction } from '../ledger/transaction-index.ts'
import { type JsonObject, toOuterBlock, toOuterReceipt, toOuterTransaction } from './outer-view.ts'
import { hashParameter, type RpcMethods, refusals, required } from './rpc-method.ts'

export function blockMethods(ledger: Ledger): RpcMethods {
  const byHash = (p: readonly unknown[]) => visibleTransaction(ledger, hashParameter(p, 0))
  const numbered = (p: readonly unknown[]) => findBlockNumber(ledger, required(p, 0))
  const hashed = (p: readonly unknown[]) => numberOfHash(ledger, hashParameter(p, 0))
  return {
    eth_blockNumber: () => numberToHex(visibleBlock(ledger)),
    eth_getBlockByNumber: async (p) => block(ledger, await numbered(p), p[1] === true),
    eth_getBlockByHash: async (p) => block(ledger, await hashed(p), p[1] === true),
    eth_getBlockTransactionCountByNumber: async (p) => transactionCount(ledger, await numbered(p)),
    eth_getBlockTransactionCountByHash: async (p) => transactionCount(ledger, await hashed(p)),
    eth_getBlockReceipts: async (p) => {
      const tag = required(p, 0)
      const number = await findBlockNumber(ledger, isHash(tag) ? { blockHash: tag } : tag)
      if (number === undefined) return null
      return ledger.transactions.inBlock(number).map(toOuterReceipt)
    },
    eth_getTransactionByHash: (p) => mapped(byHash(p), toOuterTransaction),
    eth_getTransactionReceipt: (p) => mapped(byHash(p), toOuterReceipt),
    eth_getTransactionByBlockNumberAndIndex: async (p) =>
      mapped(atIndex(ledger, await numbered(p), required(p, 1)), toOuterTransaction),
    eth_getTransactionByBlockHashAndIndex: async (p) =>
      mapped(atIndex(ledger, await hashed(p), required(p, 1)), toOuterTransaction),
    eth_getUncleByBlockHashAndIndex: () => null,
    eth_getUncleByBlockNumberAndIndex: () => null,
    eth_getUncleCountByBlockHash: () => '0x0',
    eth_getUncleCountByBlockNumber: () => '0x0',
  }
}

/** The transaction with that hash, once readers may see it and its receipt. */
function visibleTransaction(ledger: Ledger, hash: string): EvmTransaction | undefined {
  const transaction = ledger.transactions.byHash(hash)
  if (transaction === undefined) return undefined
  const { readLagMs, receiptDelayMs } = ledger.faults
  const newest = ledger.evm.newestBlock(readLagMs + receiptDelayMs)
  return transaction.blockNumber <= newest ? transaction : undefined
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
  return found === null ? null : toOuterBlock(ledger, found as InnerBlock, isFull)
}

/** The blocks of a range that anvil still has, oldest first. */
export async function blocksBetween(
  ledger: Ledger,
  { from, to, isFull }: { from: number; to: number; isFull: boolean },
): Promise<JsonObject[]> {
  const calls = Array.from({ length: to - from + 1 }, (_, index): [string, unknown[]] => [
    'eth_getBlockByNumber',
    [numberToHex(from + index), false],
  ])
  const found = await ledger.anvil.batch(calls)
  return found.flatMap((each) =>
    each === null ? [] : [toOuterBlock(ledger, each as InnerBlock, isFull)],
  )
}

/** Number of the visible block with that hash. */
export async function numberOfHash(ledger: Ledger, hash: string): Promise<number | undefined> {
  const found = (await ledger.anvil.call('eth_getBlockByHash', [hash, false])) as {
    number: Hex
  } | null
  if (found === null || Number(found.number) > visibleBlock(ledger)) return undefined
  return Number(found.number)
}

function transactionCount(ledger: Ledger, number: number | undefined): Hex | null {
  return number === undefined ? null : numberToHex(ledger.transactions.inBlock(number).length)
}

function atIndex(
  ledger: Ledger,
  number: number | undefined,
  index: unknown,
): EvmTransaction | undefined {
  return number === undefined ? undefined : ledger.transactions.inBlock(number)[Number(index)]
}

/** The newest block visible to JSON-RPC readers. */
export function visibleBlock(ledger: Ledger): number {
  return ledger.evm.newestBlock(ledger.faults.readLagMs)
}

/** Consensus is final: a block is safe as soon as it exists. */
const NEWEST_TAGS = ['latest', 'pending', 'safe', 'finalized']

/** Number of the block that a tag, a hex number or an EIP-1898 object names; undefined if it does not exist (yet). */
export async function findBlockNumber(ledger: Ledger, tag: unknown): Promise<number | undefined> {
  const visible = visibleBlock(ledger)
  if (tag === undefined || tag === null) return visible
  if (typeof tag === 'object') return fromObject(ledger, tag)
  if (tag === 'earliest') return 0
  if (typeof tag === 'string' && NEWEST_TAGS.includes(tag)) return visible
  if (typeof tag !== 'string' || !/^0x[0-9a-fA-F]{1,12}$/.test(tag)) {
    throw refusals.invalidParameter(
      1,
      `Expected 0x prefixed hexadecimal block number, or the string "latest", "earliest" or "pending", value: ${JSON.stringify(tag)}`,
    )
  }
  const number = Number(tag)
  return number <= visible ? number : undefined
}

/** The same as an anvil tag. @throws RpcError for a block that does not exist, or whose state is forgotten */
export async function innerTag(ledger: Ledger, tag: unknown): Promise<string> {
  const number = await findBlockNumber(ledger, tag)
  if (number === undefined || !ledger.evm.isStateKept(number)) throw refusals.unknownBlock()
  return number === ledger.evm.newestBlock() ? 'latest' : numberToHex(number)
}

const isHash = (tag: unknown): tag is Hex =>
  typeof tag === 'string' && /^0x[0-9a-fA-F]{64}$/.test(tag)

async function fromObject(ledger: Ledger, tag: object): Promise<number | undefined> {
  if ('blockNumber' in tag) return findBlockNumber(ledger, tag.blockNumber)
  if (!('blockHash' in tag)) throw refusals.invalidParameter(1, 'Expected blockNumber or blockHash')
  return isHash(tag.blockHash) ? numberOfHash(ledger, tag.blockHash) : undefined
}
