import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { fairClv } from './fair-clv.ts'
import { pointsClv } from './points-clv.ts'

test('a price of 2.20 needs 45.5 %; a fair 50 % is 4.5 points more', () => {
  expect(pointsClv({ taken: 2.2, fairProbability: 0.5 })).toBeCloseTo(0.5 - 5 / 11, 15)
})

test('is the fair value over the price taken', () => {
  const price = fc.double({ min: 1.01, max: 100, noNaN: true })
  fc.assert(
    fc.property(price, fc.double({ min: 0.001, max: 0.999, noNaN: true }), (taken, p) => {
      const pick = { taken, fairProbability: p }
      expect(pointsClv(pick)).toBeCloseTo(fairClv(pick) / taken, 13)
    }),
  )
})
