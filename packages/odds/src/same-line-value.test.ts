import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { sameLineValue } from './same-line-value.ts'
import { settlementValue } from './settlement-value.ts'

test('agrees with the value of the shares that it stands for', () => {
  const share = fc.double({ min: 0.01, max: 0.5, noNaN: true })
  fc.assert(
    fc.property(share, share, fc.double({ min: 1.1, max: 10, noNaN: true }), (won, lost, odds) => {
      const exposure = won + lost
      const value = sameLineValue({ odds, winShare: won / exposure, exposure })
      expect(value).toBeCloseTo(settlementValue({ odds, won, lost }), 12)
    }),
  )
})
