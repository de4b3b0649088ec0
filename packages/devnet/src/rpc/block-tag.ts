// Which block a caller means, and which blocks it may already see: with a read lag the newest visible block is an older
// one, and everything after it does not exist yet for readers.

import { numberToHex } from 'viem'
import type { Ledger } from '../ledger/ledger.ts'
import { refusals } from './rpc-error.ts'

/** The newest block that JSON-RPC readers see. */
export function visibleBlock(ledger: Ledger): number {
  const { readLagMs } = ledger.faults
  return readLagMs === 0
    ? ledger.evm.latestBlock()
    : ledger.evm.blockAt(ledger.clock.unixMs() - readLagMs)
}

/** Number of the block that a tag, a hex number or an EIP-1898 object names; undefined when there is none (yet). */
export function blockNumberOf(ledger: Ledger, tag: unknown): number | undefined {
  const visible = visibleBlock(ledger)
  if (tag === undefined || tag === null) return visible
  if (typeof tag === 'object') return fromObject(ledger, tag)
  switch (tag) {
    case 'latest':
    case 'pending':
    case 'safe':
    case 'finalized':
      return visible
    case 'earliest':
      return 0
  }
  if (typeof tag !== 'string' || !/^0x[0-9a-fA-F]{1,12}$/.test(tag)) {
    throw refusals.invalidParameter(
      1,
      `Expected 0x prefixed hexadecimal block number, or the string "latest", "earliest" or "pending", value: ${JSON.stringify(tag)}`,
    )
  }
  const number = Number(tag)
  return number <= visible ? number : undefined
}

/** The same as a tag for anvil. @throws RpcError for a block that is not there */
export function innerTag(ledger: Ledger, tag: unknown): string {
  const number = blockNumberOf(ledger, tag)
  if (number === undefined) throw refusals.unknownBlock()
  return number === ledger.evm.latestBlock() ? 'latest' : numberToHex(number)
}

function fromObject(ledger: Ledger, tag: object): number | undefined {
  if ('blockNumber' in tag) return blockNumberOf(ledger, tag.blockNumber)
  if ('blockHash' in tag && typeof tag.blockHash === 'string') {
    const number = ledger.transactions.blockWithHash(tag.blockHash)?.blockNumber
    return number !== undefined && number <= visibleBlock(ledger) ? number : undefined
  }
  throw refusals.invalidParameter(1, 'Expected blockNumber or blockHash')
}
