import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { describeUsageLedger } from '../metering/usage-ledger.contract.ts'
import { usageGasLimit } from './recorder-ledger.ts'
import { RelayUnavailable } from './relay.ts'
import { startUsageDevnet, type UsageDevnet } from './usage-devnet.fixture.ts'

describe('on devnet', () => {
  let shared: UsageDevnet
  beforeAll(async () => {
    shared = await startUsageDevnet({ quota: 20 })
  })
  afterAll(() => shared.stop())
  const mend = () => {
    shared.devnet.controls.setUnavailable({ rpc: false })
    shared.devnet.controls.setGasPriceTinybar(109n)
  }
  afterEach(mend)

  describeUsageLedger('viem on devnet', async () => {
    const { devnet } = shared
    const recorder = devnet.accounts.find(({ name }) => name === 'usage recorder 0')
    if (recorder === undefined) throw new Error('no recorder')
    await devnet.controls.setBalanceTinybar(recorder.accountId, 10_000_000_000_000n)
    return {
      ledger: shared.openLedger(),
      quota: 20,
      newWindow: async () => {
        const agent = await shared.openWindow()
        const { windowExpiresAtSeconds } = await shared.readCall(agent)
        return { agent, windowExpiresAtSeconds }
      },
      raiseGasPrice: () => devnet.controls.setGasPriceTinybar(1_000n),
      takeFunds: () => devnet.controls.setBalanceTinybar(recorder.accountId, 1_000n),
      cutOff: () => devnet.controls.setUnavailable({ rpc: true }),
    }
  })

  test('A10: a dead ledger is RelayUnavailable with its cause', async () => {
    shared.devnet.controls.setUnavailable({ rpc: true })
    await expect(shared.openLedger().readNonce()).rejects.toMatchObject({
      name: RelayUnavailable.name,
      cause: expect.any(Error),
    })
  })

  test('A10: a batch of 500 agents stays below the 15 M gas of a Hedera transaction', () => {
    expect(usageGasLimit(500)).toBeLessThan(15_000_000n)
  })
})
