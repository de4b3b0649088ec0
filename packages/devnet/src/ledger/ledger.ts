// The ledger that the three edges share: one serial order of changes, the entities, the records, and the prices. What a
// native transfer or an EVM transaction does is in files of their own; here is what they have in common.

import type { Address } from 'viem'
import type { AnvilClient } from '../anvil/anvil-client.ts'
import { type AccountRegistry, createAccountRegistry, type Entity } from './account-registry.ts'
import type { ConsensusClock } from './consensus-clock.ts'
import { longZeroNumber } from './entity-id.ts'
import { createEvm, type Evm, TIMESTAMP_LAG_SECONDS_DEFAULT } from './evm.ts'
import type { EvmTransaction } from './evm-transaction.ts'
import { EXCHANGE_RATE_DEFAULT, type ExchangeRate } from './exchange-rate.ts'
import { type Faults, noFaults } from './faults.ts'
import { GAS_PRICE_TINYBAR_DEFAULT } from './network.ts'
import { createRecordStore, type RecordStore } from './record-store.ts'
import { createSerialQueue, type SerialQueue } from './serial-queue.ts'
import { createTransactionIndex, type TransactionIndex } from './transaction-index.ts'

/** Settings of the network that tests and `devnet_*` calls change. */
export type NetworkSettings = {
  gasPriceTinybar: bigint
  timestampLagSeconds: number
  exchangeRate: ExchangeRate
}

/** The shared state behind the edges. */
export type Ledger = {
  clock: ConsensusClock
  anvil: AnvilClient
  evm: Evm
  accounts: AccountRegistry
  records: RecordStore
  transactions: TransactionIndex
  queue: SerialQueue
  faults: Faults
  settings: NetworkSettings
  /** Called after every EVM transaction; the scheduler listens. */
  onExecuted: (transaction: EvmTransaction) => void
  /**
   * The entity at an EVM address; a hollow account is made for an address that has none (HIP-583). A long-zero address is
   * a number: what is made there, a system contract of this ledger, has that one.
   */
  entityAt(address: Address, createdNs: bigint): Entity
}

/** A ledger without accounts over a fresh anvil. */
export function createLedger(options: { clock: ConsensusClock; anvil: AnvilClient }): Ledger {
  const accounts = createAccountRegistry()
  const settings: NetworkSettings = {
    gasPriceTinybar: GAS_PRICE_TINYBAR_DEFAULT,
    timestampLagSeconds: TIMESTAMP_LAG_SECONDS_DEFAULT,
    exchangeRate: EXCHANGE_RATE_DEFAULT,
  }
  return {
    clock: options.clock,
    anvil: options.anvil,
    evm: createEvm({
      anvil: options.anvil,
      unixMs: () => options.clock.unixMs(),
      lagSeconds: () => settings.timestampLagSeconds,
    }),
    accounts,
    records: createRecordStore(),
    transactions: createTransactionIndex(),
    queue: createSerialQueue(),
    faults: noFaults(),
    settings,
    onExecuted: () => undefined,
    entityAt(address, createdNs) {
      const number = longZeroNumber(address)
      const own = number === undefined ? {} : { number }
      return accounts.byAddress(address) ?? accounts.create({ address, createdNs, ...own })
    },
  }
}
