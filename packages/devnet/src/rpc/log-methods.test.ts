import { manualClock } from '@tallystick/service-kit'
import { expect, test } from 'vitest'
import { createConsensusClock } from '../ledger/consensus-clock.ts'
import { createLedger } from '../ledger/ledger.ts'
import { logMethods } from './log-methods.ts'

test('eth_getLogs over more than 1000 blocks is refused', async () => {
  const clock = createConsensusClock(manualClock(0))
  const anvil = { call: async () => [], batch: async () => [], close() {} }
  const ledger = createLedger({ clock, anvil })
  const getLogs = async () =>
    await logMethods(ledger)['eth_getLogs']?.([{ fromBlock: '0x0', toBlock: 'latest' }])
  while (ledger.evm.newestBlock() < 999) await ledger.evm.mine(clock.nextTimestamp())
  expect(await getLogs()).toEqual([])
  await ledger.evm.mine(clock.nextTimestamp())
  await expect(getLogs()).rejects.toMatchObject({
    code: -32000,
    message: 'Exceeded maximum block range: 1000',
  })
})
