// The ledger's state machine: anvil, whose wei are tinybar. Every change of state is its own block, unless changes are gathered
// in one, stamped with the consensus second minus the lag by which a record block begins before its contents. Callers hold
// the serial queue.

import type { Clock } from '@tallystick/service-kit'
import { type AccessList, type Address, type Hex, numberToHex } from 'viem'
import type { AnvilClient, InnerReceipt } from '../anvil/anvil-client.ts'
import { createOpenBlock, type OpenBlock } from './open-block.ts'
import { nsToSeconds, secondsToNs } from './records.ts'

/** A transaction to execute; amounts in tinybar. */
type InnerTransaction = {
  from: Address
  to: Address | null
  data: Hex
  accessList?: AccessList
  valueTinybar: bigint
  gas: bigint
  gasPriceTinybar: bigint
  nonce?: number | undefined
  /** Moment of consensus, nanoseconds. */
  consensusNs: bigint
  /** For late executions: stamps the block with this consensus second instead, if it is later than every earlier block. */
  asOfSecond?: number | undefined
}

/** Consensus time of its content, `block.timestamp`, and when it was closed. */
type BlockTimes = { consensusNs: bigint; stampSecond: number; recordedAtMs: number }

/** Seconds by which `block.timestamp` trails consensus time by default (1 to 2 were measured). */
export const TIMESTAMP_LAG_SECONDS_DEFAULT = 2

/**
 * How many of the newest blocks' states can be read: more than reads ever lag behind at twenty blocks a second. anvil keeps a
 * few more, since it forgets while others read.
 */
export const STATES_KEPT = 256

/** The state machine over a fresh anvil, whose block 0 counts as known from now on. */
export function createEvm(options: {
  anvil: AnvilClient
  clock: Pick<Clock, 'unixMs'>
  lagSeconds: () => number
  /** Called before each change, with the number of the newest block. */
  beforeChange: (newestBlock: number) => Promise<void>
}) {
  const { anvil, clock } = options
  const state = emptyState(clock.unixMs())

  function stamp(consensusSecond: number): readonly [string, readonly unknown[]] {
    state.lastStamp = Math.max(state.lastStamp, consensusSecond - options.lagSeconds())
    return ['evm_setNextBlockTimestamp', [state.lastStamp]]
  }

  function remember(number: number, consensusNs: bigint): void {
    const { lastStamp: stampSecond } = state
    state.blocks[number] = { consensusNs, stampSecond, recordedAtMs: clock.unixMs() }
  }

  const newest = (): number => state.blocks.length - 1
  const oldestState = (): number => Math.max(state.firstState, newest() - STATES_KEPT + 1)

  async function mine(consensusNs: bigint): Promise<void> {
    // The first change of an open block was preceded by it.
    if (open === undefined) await options.beforeChange(newest())
    await anvil.batch([stamp(nsToSeconds(consensusNs)), ['evm_mine']])
    remember(state.blocks.length, consensusNs)
  }

  /** Gathers what a window changes; undefined while each change gets its own block. */
  let open: OpenBlock | undefined

  /** Executes one transaction, in a block of its own unless one is open. @throws AnvilRefused if it never reaches the EVM */
  async function execute(transaction: InnerTransaction): Promise<InnerReceipt> {
    if (open !== undefined) return open.join({ ...transaction, sent: toSent(transaction) })
    await options.beforeChange(newest())
    const { consensusNs } = transaction
    const [, receipt] = (await anvil.batch([
      stamp(transaction.asOfSecond ?? nsToSeconds(consensusNs)),
      ['eth_sendTransactionSync', [toSent(transaction)]],
    ])) as [unknown, InnerReceipt]
    remember(Number(receipt.blockNumber), consensusNs)
    return receipt
  }

  return {
    state,
    /** Runs jobs in order, with what they change in one block. Each makes one change, and fails by itself. */
    async gather(jobs: readonly (() => Promise<void>)[]): Promise<void> {
      await options.beforeChange(newest())
      open = createOpenBlock(anvil, mine)
      try {
        await open.run(jobs)
      } finally {
        open = undefined
      }
    },
    execute,
    /** Sets balances in tinybar and closes a block containing them, unless one is open. */
    async setBalances(balances: ReadonlyMap<Address, bigint>, consensusNs: bigint): Promise<void> {
      await open?.beforeBalances(consensusNs)
      await writeBalances(anvil, balances)
      if (open === undefined) await mine(consensusNs)
    },
    /** Sets balances, and executes a transaction in the same block. No block is open. */
    async executeWith(balances: ReadonlyMap<Address, bigint>, transaction: InnerTransaction) {
      await writeBalances(anvil, balances)
      return execute(transaction)
    },
    /** Closes an empty block. */
    mine,
    /** Current balances in tinybar, in the order of `addresses`. */
    balances: (addresses: readonly Address[]) => readBalances(anvil, addresses),
    /**
     * Number of the newest block, or of the one that was newest `lagMs` of ledger time ago, as far back as states are kept.
     */
    newestBlock(lagMs = 0): number {
      if (lagMs === 0) return newest()
      const atMs = clock.unixMs() - lagMs
      const then = state.blocks.findLastIndex((block) => (block?.recordedAtMs ?? 0) <= atMs)
      return Math.max(oldestState(), then)
    },
    /** Whether the state of a block can still be read. */
    isStateKept: (number: number) => number >= oldestState(),
    /** The consensus timestamps that belong to a block: what reached consensus since the one before. */
    blockRange: (number: number) => findRange(state.blocks, number),
  }
}

async function writeBalances(
  anvil: AnvilClient,
  balances: ReadonlyMap<Address, bigint>,
): Promise<void> {
  const changes = [...balances].map(([address, tinybar]) => [address, numberToHex(tinybar)])
  await anvil.batch(changes.map((change) => ['anvil_setBalance', change]))
}

async function readBalances(anvil: AnvilClient, addresses: readonly Address[]): Promise<bigint[]> {
  const answers = await anvil.batch(
    addresses.map((address) => ['eth_getBalance', [address, 'latest']]),
  )
  return answers.map((answer) => BigInt(answer as Hex))
}

function emptyState(recordedAtMs: number) {
  return {
    /** What we know about each block beyond what anvil keeps. */
    blocks: [{ consensusNs: 0n, stampSecond: 0, recordedAtMs }] as (BlockTimes | undefined)[],
    lastStamp: 0,
    /** The first block whose state anvil may have. */
    firstState: 0,
  }
}

function toSent({ accessList = [], nonce, ...transaction }: InnerTransaction): object {
  return {
    from: transaction.from,
    to: transaction.to ?? undefined,
    data: transaction.data,
    value: numberToHex(transaction.valueTinybar),
    gas: numberToHex(transaction.gas),
    gasPrice: numberToHex(transaction.gasPriceTinybar),
    nonce: nonce === undefined ? undefined : numberToHex(nonce),
    ...(accessList.length > 0 && { accessList }),
  }
}

function findRange(
  blocks: readonly (BlockTimes | undefined)[],
  number: number,
): { from: bigint; to: bigint } {
  const { consensusNs: to = 0n, stampSecond = 0 } = blocks[number] ?? {}
  const before = (blocks[number - 1]?.consensusNs ?? -1n) + 1n
  const start = secondsToNs(stampSecond)
  const from = start > before ? start : before
  return { from: from < to ? from : to, to }
}
