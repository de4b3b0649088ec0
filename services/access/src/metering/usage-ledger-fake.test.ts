import { manualClock } from '@tallystick/service-kit'
import { describeUsageLedger } from './usage-ledger.contract.ts'
import { FakeUsageChain, FakeUsageLedger } from './usage-ledger-fake.fixture.ts'

describeUsageLedger('the fake of the tests', () => {
  const clock = manualClock(0)
  const chain = new FakeUsageChain({ quota: 20, clock })
  const ledger = new FakeUsageLedger({ chain, clock })
  let agents = 0
  return {
    ledger,
    quota: chain.quota,
    newWindow: async () => {
      agents += 1
      return { agent: `0x${`${agents}`.padStart(40, '0')}`, windowExpiresAtSeconds: 1_700_000_000 }
    },
    raiseGasPrice: () => {
      ledger.gasPriceWeibar *= 3n
    },
    takeFunds: () => {
      ledger.hasFunds = false
    },
    cutOff: () => {
      ledger.isUnreachable = true
    },
  }
})
