// The ledger's state machine: anvil, whose wei are tinybar. Every change of state is a block of its own, stamped with
// the consensus second less the lag by which a record block begins before what it holds. Callers hold the serial queue.

import type { Clock } from '@tallystick/service-kit'
import { type Address, type Hex, numberToHex } from 'viem'
import type { AnvilClient } from '../anvil/anvil-client.ts'
import { nsToSeconds } from './records.ts'

/** A receipt as anvil gives it: amounts in tinybar, hashes of the inside. */
export type InnerReceipt = {
  transactionHash: Hex
  blockHash: Hex
  blockNumber: Hex
  transactionIndex: Hex
  status: Hex
  gasUsed: Hex
  cumulativeGasUsed: Hex
  effectiveGasPrice: Hex
  logsBloom: Hex
  logs: InnerLog[]
  from: Address
  to: Address | null
  contractAddress: Address | null
  type: Hex
}

/** A log as anvil gives it. */
export type InnerLog = {
  address: Address
  topics: Hex[]
  data: Hex
  blockNumber: Hex
  blockHash: Hex
  transactionHash: Hex
  transactionIndex: Hex
  logIndex: Hex
}

/** A transaction to execute; amounts in tinybar. */
type InnerTransaction = {
  from: Address
  to: Address | null
  data: Hex
  valueTinybar: bigint
  gas: bigint
  gasPriceTinybar: bigint
  nonce?: number | undefined
  /** Moment of consensus, nanoseconds. */
  consensusNs: bigint
  /** Stamps the block with this consensus second instead, if later than every block before: for late executions. */
  asOfSecond?: number | undefined
}

/** Seconds by which `block.timestamp` trails consensus time unless set otherwise (1 to 2 were measured). */
export const TIMESTAMP_LAG_SECONDS_DEFAULT = 2

/** The state machine over a fresh anvil, whose block 0 counts as there from now on. */
export function createEvm(options: {
  anvil: AnvilClient
  clock: Pick<Clock, 'unixMs'>
  lagSeconds: () => number
}) {
  const { anvil, clock } = options
  /** What is known of a block besides what anvil keeps. */
  const blocks = [{ consensusNs: 0n, recordedAtMs: clock.unixMs() }]
  let lastStamp = 0

  function stamp(consensusSecond: number): readonly [string, readonly unknown[]] {
    lastStamp = Math.max(lastStamp, consensusSecond - options.lagSeconds())
    return ['evm_setNextBlockTimestamp', [lastStamp]]
  }

  function remember(number: number, consensusNs: bigint): void {
    blocks[number] = { consensusNs, recordedAtMs: clock.unixMs() }
  }

  async function mine(consensusNs: bigint): Promise<void> {
    await anvil.batch([stamp(nsToSeconds(consensusNs)), ['evm_mine']])
    remember(blocks.length, consensusNs)
  }

  return {
    /** Executes one transaction in one block. @throws AnvilRefused when it never reaches the EVM */
    async execute(transaction: InnerTransaction): Promise<InnerReceipt> {
      const second = transaction.asOfSecond ?? nsToSeconds(transaction.consensusNs)
      const [, receipt] = await anvil.batch([
        stamp(second),
        ['eth_sendTransactionSync', [toAnvilTransaction(transaction)]],
      ])
      const done = receipt as InnerReceipt
      remember(Number(done.blockNumber), transaction.consensusNs)
      return done
    },
    /** Sets balances in tinybar and closes a block over them. */
    async setBalances(balances: ReadonlyMap<Address, bigint>, consensusNs: bigint): Promise<void> {
      await anvil.batch(
        [...balances].map(([address, tinybar]) => [
          'anvil_setBalance',
          [address, numberToHex(tinybar)],
        ]),
      )
      await mine(consensusNs)
    },
    /** Closes an empty block. */
    mine,
    /** Present balances in tinybar, in the order of `addresses`. */
    async balances(addresses: readonly Address[]): Promise<bigint[]> {
      const answers = await anvil.batch(
        addresses.map((address) => ['eth_getBalance', [address, 'latest']]),
      )
      return answers.map((answer) => BigInt(answer as Hex))
    },
    /** Number of the newest block. */
    latestBlock: () => blocks.length - 1,
    /** The newest block that was there at `atMs` of ledger time; 0 before the first. */
    blockAt(atMs: number): number {
      let low = 0
      let high = blocks.length - 1
      while (low < high) {
        const middle = (low + high + 1) >> 1
        if ((blocks[middle]?.recordedAtMs ?? 0) <= atMs) low = middle
        else high = middle - 1
      }
      return low
    },
    blockTimes: (number: number) => blocks[number],
  }
}

function toAnvilTransaction(transaction: InnerTransaction): Record<string, unknown> {
  return {
    from: transaction.from,
    to: transaction.to ?? undefined,
    data: transaction.data,
    value: numberToHex(transaction.valueTinybar),
    gas: numberToHex(transaction.gas),
    gasPrice: numberToHex(transaction.gasPriceTinybar),
    nonce: transaction.nonce === undefined ? undefined : numberToHex(transaction.nonce),
  }
}
