// The ledger that the three edges share: one serial order of changes, the entities, the records, and the prices. Native
// transfers and EVM transactions have their own files.

import type { Address } from 'viem'
import type { AnvilClient } from '../anvil/anvil-client.ts'
import { createAccountRegistry, type Entity } from './account-registry.ts'
import type { ConsensusClock } from './consensus-clock.ts'
import { longZeroNumber } from './entity-id.ts'
import { createEvm, TIMESTAMP_LAG_SECONDS_DEFAULT } from './evm.ts'
import type { LedgerFile } from './ledger-file.ts'
import {
  CREATE_GAS_DEFAULT,
  EXCHANGE_RATE_DEFAULT,
  type ExchangeRate,
  GAS_PRICE_TINYBAR_DEFAULT,
} from './network.ts'
import { type NetworkFaults, noFaults } from './network-faults.ts'
import { createRecordStore } from './records.ts'
import { createTokenRegistry } from './token-registry.ts'
import type { Topic } from './topic.ts'
import { createTransactionIndex, type EvmTransaction } from './transaction-index.ts'
import type { WaitingTransaction } from './waiting-transaction.ts'

export type Ledger = ReturnType<typeof createLedger>

/** What gas costs, and what HBAR is worth. */
type Prices = { gasPriceTinybar: bigint; exchangeRate: ExchangeRate }

/** A ledger without accounts over a fresh anvil. `beforeChange` is called before each block, while the queue is held. */
export function createLedger(parts: {
  clock: ConsensusClock
  anvil: AnvilClient
  beforeChange?: (newestBlock: number) => Promise<void>
}) {
  const { anvil, clock, beforeChange = async () => undefined } = parts
  const accounts = createAccountRegistry()
  const tokens = createTokenRegistry({ anvil, accounts })
  const queue = createSerialQueue()
  const faults = noFaults()
  const transactions = createTransactionIndex()
  /** Tests and `devnet_*` calls change these. */
  const settings = {
    gasPriceTinybar: GAS_PRICE_TINYBAR_DEFAULT,
    /** What a `scheduleCall` costs by default. */
    createGas: CREATE_GAS_DEFAULT,
    timestampLagSeconds: TIMESTAMP_LAG_SECONDS_DEFAULT,
    exchangeRate: EXCHANGE_RATE_DEFAULT,
  }
  /** In order of time. */
  const prices = { since: [{ sinceNs: 0n, ...settings }] as (Prices & { sinceNs: bigint })[] }
  const lagSeconds = (): number => settings.timestampLagSeconds
  const evm = createEvm({ anvil, clock, lagSeconds, beforeChange })
  return {
    clock,
    anvil,
    evm,
    accounts,
    tokens,
    files: { byNumber: new Map<number, LedgerFile>() },
    waiting: { byNumber: new Map<number, WaitingTransaction>() },
    topics: { byNumber: new Map<number, Topic>() },
    records: createRecordStore((record) => transactions.forget(record.evm?.hash)),
    transactions,
    queue,
    windows: createBlockWindows({ clock, evm, queue, faults }),
    /** Tests and `devnet_*` calls write them, the edges read them. */
    faults,
    settings,
    prices,
    /** Changes prices from now on. */
    setPrices(changes: Partial<Prices>): void {
      Object.assign(settings, changes)
      prices.since.push({ ...settings, sinceNs: clock.nextTimestamp() })
    },
    /** The prices at a consensus timestamp. */
    pricesAt: (consensusNs: bigint): Prices =>
      prices.since.findLast(({ sinceNs }) => sinceNs <= consensusNs) ?? settings,
    /** Called after every EVM transaction; the scheduler listens. */
    onExecuted: (_transaction: EvmTransaction): void => undefined,
    /** Called when a transaction waits for its time. */
    onWaiting: (): void => undefined,
    /** The id of the entity or token at an address, or null. */
    idAt: (address: string | null): string | null =>
      accounts.findId(address) ?? tokens.byAddress(address ?? '')?.id ?? null,
    /**
     * The entity at an EVM address; creates a hollow account if there is none (HIP-583). A long-zero address is a number,
     * and the entity gets that number: system contracts have such addresses.
     */
    entityAt(address: Address, createdNs: bigint): Entity {
      const number = longZeroNumber(address)
      return accounts.byAddress(address) ?? accounts.create({ address, createdNs, number })
    },
  }
}

/** Runs jobs one after another, in order of arrival: the ledger's consensus order. */
function createSerialQueue() {
  let tail: Promise<unknown> = Promise.resolve()
  return {
    /** Runs `job` once every earlier one has ended; a failed job does not stop the next. */
    run<T>(job: () => Promise<T>): Promise<T> {
      const result = tail.then(job)
      tail = result.catch(() => undefined)
      return result
    },
    /** Resolves once everything queued so far has ended. */
    async idle(): Promise<void> {
      await tail
    },
  }
}

/** Gathers the changes of a window, `faults.blockMs` long, in order of arrival. */
function createBlockWindows(parts: {
  clock: ConsensusClock
  evm: ReturnType<typeof createEvm>
  queue: ReturnType<typeof createSerialQueue>
  faults: NetworkFaults
}) {
  const { clock, evm, queue, faults } = parts
  let waiting: (() => Promise<void>)[] = []

  function close(): void {
    const jobs = waiting
    waiting = []
    queue
      .run(() => evm.gather(jobs))
      .catch((cause: unknown) => {
        process.stderr.write(`devnet: block: ${String(cause)}\n`)
      })
  }

  return {
    /** Runs what reaches consensus: at once, or when its window ends, in one block with all that reached it meanwhile. */
    async run<T>(job: () => Promise<T>): Promise<T> {
      const { blockMs } = faults
      if (blockMs === 0) return queue.run(job)
      const result = Promise.withResolvers<T>()
      waiting.push(() => job().then(result.resolve, result.reject))
      if (waiting.length === 1) clock.after(blockMs - (clock.unixMs() % blockMs), close)
      return result.promise
    },
    waitingCount: () => waiting.length,
  }
}
