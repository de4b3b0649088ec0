import { manualClock } from '@tallystick/service-kit'
import { expect, test } from 'vitest'
import type { AnvilClient } from '../anvil/anvil-client.ts'
import { completeTransfers } from './complete-transfers.ts'
import { createConsensusClock } from './consensus-clock.ts'
import { createLedger } from './ledger.ts'
import type { TransactionRecord } from './records.ts'
import type { EvmTransaction } from './transaction-index.ts'

const PAYER = `0x${'a1'.repeat(20)}`

/** An anvil that traces every transaction as moving nothing, and records its calls. */
function tracingAnvil(): AnvilClient & { readonly asked: string[] } {
  const requested: string[] = []
  return {
    asked: requested,
    call: () => Promise.reject(new Error('only traces are requested')),
    async batch(calls) {
      requested.push(...calls.map(([method]) => method))
      return calls.map(() => ({ type: 'CALL', from: PAYER, value: '0x0' }))
    },
  }
}

function evmRecord(): TransactionRecord {
  return {
    consensusNs: 1_700_000_000_000_000_001n,
    name: 'ETHEREUMTRANSACTION',
    id: { account: '0.0.902', validStartNs: 1n },
    isScheduled: false,
    result: 'SUCCESS',
    chargedFeeTinybar: 7n,
    maxFeeTinybar: 9n,
    memo: new Uint8Array(),
    node: '0.0.3',
    hash: new Uint8Array(32),
    validDurationSeconds: 120,
    entityId: null,
    transfers: undefined,
    evm: { hash: '0x01', innerHash: '0x02', blockNumber: 1 },
  }
}

test('a trace waits for the change under way, since anvil hangs for ever if the two meet', async () => {
  const anvil = tracingAnvil()
  const clock = createConsensusClock(manualClock(1_700_000_000_000))
  const ledger = createLedger({ clock, anvil })
  const change = Promise.withResolvers<void>()
  const changed = ledger.queue.run(() => change.promise)
  const record = evmRecord()
  ledger.transactions.add({
    hash: '0x01',
    blockNumber: 1,
    gasPriceTinybar: 7n,
    receipt: { gasUsed: '0x1' },
  } as unknown as EvmTransaction)
  const completed = completeTransfers(ledger, [record])
  await new Promise((resolve) => {
    setImmediate(resolve)
  })
  expect(anvil.asked).toEqual([])
  change.resolve()
  await changed
  await completed
  clock.stop()
  expect(anvil.asked).toEqual(['debug_traceTransaction'])
  expect(record.transfers?.map(({ amountTinybar }) => amountTinybar)).toEqual([-7n, 7n])
})
