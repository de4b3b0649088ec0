import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { multiplicativeProbabilities } from './multiplicative-probabilities.ts'
import { anyBook } from './testing/any-book.ts'
import { largestDifference } from './testing/largest-difference.ts'
import { marginVectors } from './testing/margin-vectors.ts'

describe('multiplicativeProbabilities', () => {
  test.for(marginVectors('multiplicative'))('agrees to 1e-12 with 60 digits: $name', (vector) => {
    const { probabilities, parameter } = multiplicativeProbabilities(vector.prices)
    expect(largestDifference(probabilities, vector.probabilities)).toBeLessThan(1e-12)
    expect(Math.abs(parameter - vector.parameter)).toBeLessThan(1e-9 * (1 + Math.abs(parameter)))
  })

  test('does not change when every price is multiplied by one factor', () => {
    fc.assert(
      fc.property(
        anyBook({ low: 0.9, high: 1.4 }),
        fc.double({ min: 0.5, max: 2, noNaN: true }),
        (prices, factor) => {
          expect(
            largestDifference(
              multiplicativeProbabilities(prices.map((price) => price * factor)).probabilities,
              multiplicativeProbabilities(prices).probabilities,
            ),
          ).toBeLessThan(1e-11)
        },
      ),
    )
  })
})
