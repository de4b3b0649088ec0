import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { additiveProbabilities } from './additive-probabilities.ts'
import { anyBook } from './testing/any-book.ts'
import { largestDifference } from './testing/largest-difference.ts'
import { marginVectors } from './testing/margin-vectors.ts'

describe('additiveProbabilities', () => {
  test.for(marginVectors('additive'))('agrees to 1e-12 with 60 digits: $name', (vector) => {
    const { probabilities, parameter } = additiveProbabilities(vector.prices)
    expect(largestDifference(probabilities, vector.probabilities)).toBeLessThan(1e-12)
    expect(Math.abs(parameter - vector.parameter)).toBeLessThan(1e-9 * (1 + Math.abs(parameter)))
  })

  test('does not change when every inverse price grows by one amount', () => {
    fc.assert(
      fc.property(
        anyBook({ low: 0.9, high: 1.4 }),
        fc.double({ min: 0, max: 0.1, noNaN: true }),
        (prices, amount) => {
          expect(
            largestDifference(
              additiveProbabilities(prices.map((price) => 1 / (1 / price + amount))).probabilities,
              additiveProbabilities(prices).probabilities,
            ),
          ).toBeLessThan(1e-11)
        },
      ),
    )
  })
})
