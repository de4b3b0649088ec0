import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { powerProbabilities } from './power-probabilities.ts'
import { anyBook } from './testing/any-book.ts'
import { largestDifference } from './testing/largest-difference.ts'
import { marginVectors } from './testing/margin-vectors.ts'

describe('powerProbabilities', () => {
  test.for(marginVectors('power'))('agrees to 1e-12 with 60 digits: $name', (vector) => {
    const { probabilities, parameter } = powerProbabilities(vector.prices)
    expect(largestDifference(probabilities, vector.probabilities)).toBeLessThan(1e-12)
    expect(Math.abs(parameter - vector.parameter)).toBeLessThan(1e-9 * (1 + Math.abs(parameter)))
  })

  test('does not change when every price is raised to the same power', () => {
    fc.assert(
      fc.property(
        anyBook({ low: 0.9, high: 1.4 }),
        fc.double({ min: 0.8, max: 1.25, noNaN: true }),
        (prices, exponent) => {
          const raised = prices.map((price) => price ** exponent)
          expect(
            largestDifference(
              powerProbabilities(raised).probabilities,
              powerProbabilities(prices).probabilities,
            ),
          ).toBeLessThan(1e-11)
        },
      ),
    )
  })

  test.for([
    { prices: [1.0000000000000002, 1_000_000] },
    { prices: [1.0000000000000002, 2.1] },
    { prices: [1.0000001, 2.01, 900_000] },
    { prices: [1.000001, 1.000001, 1.000001] },
    { prices: [1000, 1000, 1000] },
  ])('converges on prices at the limits of a double: $prices', ({ prices }) => {
    const sum = powerProbabilities(prices).probabilities.reduce((left, right) => left + right, 0)
    expect(Math.abs(sum - 1)).toBeLessThan(1e-12)
  })

  test('throws instead of answering when a price is not above 1', () => {
    expect(() => powerProbabilities([1, 1])).toThrow('not above 1')
  })
})
