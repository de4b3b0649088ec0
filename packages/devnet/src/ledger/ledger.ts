// The ledger that the three edges share: one serial order of changes, the entities, the records, and the prices. Native
// transfers and EVM transactions have their own files.

import type { Address } from 'viem'
import type { AnvilClient } from '../anvil/anvil-client.ts'
import { createAccountRegistry, type Entity } from './account-registry.ts'
import type { ConsensusClock } from './consensus-clock.ts'
import { longZeroNumber } from './entity-id.ts'
import { createEvm, TIMESTAMP_LAG_SECONDS_DEFAULT } from './evm.ts'
import type { EvmTransaction } from './evm-transaction.ts'
import { CREATE_GAS_DEFAULT, EXCHANGE_RATE_DEFAULT, GAS_PRICE_TINYBAR_DEFAULT } from './network.ts'
import { noFaults } from './network-faults.ts'
import { createRecordStore } from './records.ts'

export type Ledger = ReturnType<typeof createLedger>

/** A ledger without accounts over a fresh anvil. */
export function createLedger({ clock, anvil }: { clock: ConsensusClock; anvil: AnvilClient }) {
  const accounts = createAccountRegistry()
  /** Tests and `devnet_*` calls change these. */
  const settings = {
    gasPriceTinybar: GAS_PRICE_TINYBAR_DEFAULT,
    /** What a `scheduleCall` costs by default. */
    createGas: CREATE_GAS_DEFAULT,
    timestampLagSeconds: TIMESTAMP_LAG_SECONDS_DEFAULT,
    exchangeRate: EXCHANGE_RATE_DEFAULT,
  }
  return {
    clock,
    anvil,
    evm: createEvm({ anvil, clock, lagSeconds: () => settings.timestampLagSeconds }),
    accounts,
    records: createRecordStore(),
    transactions: createTransactionIndex(),
    queue: createSerialQueue(),
    /** Tests and `devnet_*` calls write them, the edges read them. */
    faults: noFaults(),
    settings,
    /** Called after every EVM transaction; the scheduler listens. */
    onExecuted: (_transaction: EvmTransaction): void => undefined,
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

/** EVM transactions by hash and by block. A block holds at most one. */
function createTransactionIndex() {
  const byHash = new Map<string, EvmTransaction>()
  const byInnerHash = new Map<string, EvmTransaction>()
  const byBlock = new Map<number, EvmTransaction>()
  const byBlockHash = new Map<string, EvmTransaction>()
  return {
    add(transaction: EvmTransaction): void {
      byHash.set(transaction.hash, transaction)
      byInnerHash.set(transaction.receipt.transactionHash, transaction)
      byBlock.set(transaction.blockNumber, transaction)
      byBlockHash.set(transaction.receipt.blockHash, transaction)
    },
    /** By the hash that the sender computed. */
    byHash: (hash: string) => byHash.get(hash.toLowerCase()),
    /** By the hash inside anvil. */
    byInnerHash: (hash: string) => byInnerHash.get(hash.toLowerCase()),
    inBlock: (blockNumber: number) => byBlock.get(blockNumber),
    /** The block with that hash, if it holds a transaction. */
    blockWithHash: (blockHash: string) => byBlockHash.get(blockHash.toLowerCase()),
  }
}
