// What a test may do to the network: travel, lags, faults, prices. rpc/control-methods.ts offers the same as `devnet_*`
// over JSON-RPC.

import { exchangeRateAbi } from '@tallystick/contracts'
import { encodeFunctionData } from 'viem'
import { conditionControls } from './condition-controls.ts'
import type { TransactionService } from './consensus/transaction-service.ts'
import type { AccountKey } from './ledger/account-key.ts'
import type { Entity } from './ledger/account-registry.ts'
import { entityNumber } from './ledger/entity-id.ts'
import { callAsNetwork } from './ledger/evm-transaction.ts'
import type { Ledger } from './ledger/ledger.ts'
import {
  CREATE_GAS_DEFAULT,
  EXCHANGE_RATE_ADDRESS,
  type ExchangeRate,
  GAS_PRICE_TINYBAR_DEFAULT,
} from './ledger/network.ts'
import type { ScheduleServiceSettings } from './ledger/schedule-service.ts'
import { type Scheduler, travel } from './ledger/scheduler.ts'
import { isStatus } from './ledger/signed-transaction.ts'
import type { createSnapshots } from './snapshots.ts'

/** Everything that a test may do to the network. */
export type DevnetControls = ReturnType<typeof createControls> &
  Awaited<ReturnType<typeof createSnapshots>>['controls']

/** The controls over a ledger. */
export function createControls(parts: {
  ledger: Ledger
  scheduler: Scheduler
  transfers: TransactionService
}) {
  const { ledger, scheduler, transfers } = parts
  const { faults } = ledger
  return {
    /** Moves ledger time forward, running everything scheduled on the way, in order. Resolves once it has run. */
    advanceSeconds: (seconds: number): Promise<void> => travel(ledger, { scheduler, seconds }),
    ...conditionControls(ledger.faults),
    /** The next EVM transactions are answered with their hash and lost. */
    dropNextTransactions(count: number): void {
      faults.transactionsToDrop = count
    },
    /** The next native transfers pass the node's checks and are lost. */
    dropNextTransfers(count: number): void {
      faults.transfersToDrop = count
    },
    /** Configures the schedule service; settings left out return to normal. */
    scheduleService: (settings: ScheduleServiceSettings): Promise<void> =>
      scheduler.configure(settings),
    /** Gas price, tinybar; quoted and charged from the next call on. */
    setGasPriceTinybar(price: bigint): void {
      ledger.setPrices({ gasPriceTinybar: price })
    },
    /**
     * Gas costs `factor` times less than usual while system contracts keep their dollar price, so a `scheduleCall` takes
     * `factor` times the gas; 1 is normal. At most 109, since the price is a whole number of tinybar.
     */
    async makeGasCheaper(factor: number): Promise<void> {
      const price = BigInt(Math.floor(Number(GAS_PRICE_TINYBAR_DEFAULT) / factor))
      if (!(factor > 0) || price === 0n) throw new Error(`gas cannot be ${factor} times cheaper`)
      ledger.setPrices({ gasPriceTinybar: price })
      ledger.settings.createGas = (CREATE_GAS_DEFAULT * GAS_PRICE_TINYBAR_DEFAULT) / price
      await scheduler.configure()
    },
    /** Sets the rate in the contract, the mirror node and the fees. */
    async setExchangeRate(rate: ExchangeRate): Promise<void> {
      const args = [rate.hbar, rate.cents] as const
      const data = encodeFunctionData({ abi: exchangeRateAbi, functionName: 'setRate', args })
      await ledger.queue.run(() => callAsNetwork(ledger, EXCHANGE_RATE_ADDRESS, data))
      ledger.setPrices({ exchangeRate: rate })
    },
    /** Cuts edges off or, with false, restores them; unnamed edges stay as they are. */
    setUnavailable(edges: { rpc?: boolean; mirror?: boolean; consensus?: boolean }): void {
      Object.assign(faults.unavailable, edges)
    },
    /** Holds native transfers between the node's checks and consensus, or releases the held ones. */
    holdConsensus(isHeld: boolean): void {
      faults.isConsensusHeld = isHeld
      if (!isHeld) transfers.release()
    },
    /** How many changes wait for their window to end. */
    waitingChanges: (): number => ledger.windows.waitingCount(),
    /** How many native transfers are currently held. */
    heldTransfers: (): number => transfers.heldCount(),
    /** The next native transfer ends with this response code, at the node (default) or at consensus. */
    refuseNext(status: string, at: 'precheck' | 'consensus' = 'precheck'): void {
      if (!isStatus(status)) throw new Error(`${status} is not a Hedera response code`)
      faults.refusals.push({ status, at })
    },
    /** Replaces an account's key, e.g. with a list that has a threshold. */
    setAccountKey(accountId: string, key: AccountKey): void {
      findEntity(ledger, accountId).key = key
    },
    /** Sets an account's or contract's balance by id or EVM address, tinybar. */
    async setBalanceTinybar(account: string, balanceTinybar: bigint): Promise<void> {
      const { address } = findEntity(ledger, account)
      await ledger.queue.run(() =>
        ledger.evm.setBalances(new Map([[address, balanceTinybar]]), ledger.clock.nextTimestamp()),
      )
    },
  }
}

function findEntity(ledger: Ledger, account: string): Entity {
  const number = entityNumber(account)
  const entity =
    number === undefined ? ledger.accounts.byAddress(account) : ledger.accounts.byNumber(number)
  if (entity === undefined) throw new Error(`there is no account ${account}`)
  return entity
}
