import { exchangeRateAbi } from '@tallystick/contracts'
import { encodeFunctionData } from 'viem'
import { isStatus } from './consensus/signed-transfer.ts'
import type { TransferService } from './consensus/transfer-service.ts'
import type { DevnetControls } from './devnet.ts'
import type { Entity } from './ledger/account-registry.ts'
import { entityNumber } from './ledger/entity-id.ts'
import { callAsNetwork } from './ledger/evm-transaction.ts'
import type { Ledger } from './ledger/ledger.ts'
import { EXCHANGE_RATE_ADDRESS, type ExchangeRate } from './ledger/network.ts'
import { type Scheduler, travel } from './ledger/scheduler.ts'

/** The controls over a ledger. */
export function createControls(parts: {
  ledger: Ledger
  scheduler: Scheduler
  transfers: TransferService
}): DevnetControls {
  const { ledger, scheduler, transfers } = parts
  const { faults } = ledger
  return {
    advanceSeconds: (seconds) => travel(ledger, { scheduler, seconds }),
    setReadLagMs(ms) {
      faults.readLagMs = ms
    },
    setMirrorLagMs(ms) {
      faults.mirrorLagMs = ms
    },
    setNonceLagMs(ms) {
      faults.nonceLagMs = ms
    },
    dropNextTransactions(count) {
      faults.transactionsToDrop = count
    },
    dropNextTransfers(count) {
      faults.transfersToDrop = count
    },
    scheduleService: (settings) => scheduler.configure(settings),
    setGasPriceTinybar(price) {
      ledger.settings.gasPriceTinybar = price
    },
    setExchangeRate: (rate) => setExchangeRate(ledger, rate),
    setUnavailable(edges) {
      Object.assign(faults.unavailable, edges)
    },
    holdConsensus(isHeld) {
      faults.isConsensusHeld = isHeld
      if (!isHeld) transfers.release()
    },
    heldTransfers: () => transfers.heldCount(),
    refuseNext(status, at = 'precheck') {
      if (!isStatus(status)) throw new Error(`${status} is no Hedera response code`)
      faults.refusals.push({ status, at })
    },
    setAccountKey(accountId, key) {
      findEntity(ledger, accountId).key = key
    },
    async setBalanceTinybar(account, balanceTinybar) {
      const { address } = findEntity(ledger, account)
      await ledger.queue.run(() =>
        ledger.evm.setBalances(new Map([[address, balanceTinybar]]), ledger.clock.nextTimestamp()),
      )
    },
  }
}

async function setExchangeRate(ledger: Ledger, rate: ExchangeRate): Promise<void> {
  const args = [rate.hbar, rate.cents] as const
  const data = encodeFunctionData({ abi: exchangeRateAbi, functionName: 'setRate', args })
  await ledger.queue.run(() => callAsNetwork(ledger, EXCHANGE_RATE_ADDRESS, data))
  ledger.settings.exchangeRate = rate
}

function findEntity(ledger: Ledger, account: string): Entity {
  const number = entityNumber(account)
  const entity =
    number === undefined ? ledger.accounts.byAddress(account) : ledger.accounts.byNumber(number)
  if (entity === undefined) throw new Error(`there is no account ${account}`)
  return entity
}
