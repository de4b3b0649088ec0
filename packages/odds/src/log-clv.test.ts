import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import golden from '../vectors/golden.json' with { type: 'json' }
import { logClv } from './log-clv.ts'

test.for(golden.grades)('golden: $name', ({ taken, fair_prob, clv_log }) => {
  const value = logClv({ taken: Number(taken), fairProbability: Number(fair_prob) })
  expect(value).toBeCloseTo(Number(clv_log), 12)
})

test('a price too high and one too low by the same factor cancel out', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0.05, max: 0.95, noNaN: true }),
      fc.double({ min: 1, max: 1.5, noNaN: true }),
      (fairProbability, factor) => {
        const high = logClv({ taken: factor / fairProbability, fairProbability })
        const low = logClv({ taken: 1 / fairProbability / factor, fairProbability })
        expect(high + low).toBeCloseTo(0, 14)
      },
    ),
  )
})
