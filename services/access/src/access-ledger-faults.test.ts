/** As access-faults.test.ts, on a stack of its own, beside it: faults of the ledger, of the seller's money, and kills. */
import { describe } from 'vitest'
import { faultRounds } from './testing/fault-rounds.ts'
import { forwardFaults } from './testing/purchase-faults.ts'

const rounds = faultRounds()

describe('nothing is charged twice, nothing paid is lost', () => {
  rounds.testEach(forwardFaults)
})
