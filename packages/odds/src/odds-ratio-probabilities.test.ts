import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { oddsRatioProbabilities } from './odds-ratio-probabilities.ts'
import { anyBook } from './testing/any-book.ts'
import { largestDifference } from './testing/largest-difference.ts'
import { marginVectors } from './testing/margin-vectors.ts'

describe('oddsRatioProbabilities', () => {
  test.for(marginVectors('odds_ratio'))('agrees to 1e-12 with 60 digits: $name', (vector) => {
    const { probabilities, parameter } = oddsRatioProbabilities(vector.prices)
    expect(largestDifference(probabilities, vector.probabilities)).toBeLessThan(1e-12)
    expect(Math.abs(parameter - vector.parameter)).toBeLessThan(1e-9 * (1 + Math.abs(parameter)))
  })

  test('does not change when every profit is multiplied by the same factor', () => {
    fc.assert(
      fc.property(
        anyBook({ low: 0.9, high: 1.4 }),
        fc.double({ min: 0.5, max: 2, noNaN: true }),
        (prices, factor) => {
          const scaled = prices.map((price) => 1 + (price - 1) * factor)
          expect(
            largestDifference(
              oddsRatioProbabilities(scaled).probabilities,
              oddsRatioProbabilities(prices).probabilities,
            ),
          ).toBeLessThan(1e-11)
        },
      ),
    )
  })

  test('its logits differ from those of the inverse prices by one shift', () => {
    fc.assert(
      fc.property(anyBook({ low: 0.6, high: 1.45 }), (prices) => {
        const { probabilities, parameter } = oddsRatioProbabilities(prices)
        const shifts = probabilities.map(
          (probability, index) => (1 / probability - 1) / ((prices[index] ?? 0) - 1),
        )
        for (const shift of shifts) expect(Math.abs(shift / parameter - 1)).toBeLessThan(1e-9)
      }),
    )
  })

  test('throws instead of answering when a price is not above 1', () => {
    expect(() => oddsRatioProbabilities([1, 1])).toThrow('not above 1')
  })
})
