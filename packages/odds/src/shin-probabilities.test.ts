import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { additiveProbabilities } from './remove-margin.ts'
import { shinProbabilities } from './shin-probabilities.ts'
import { anyBook } from './testing/any-book.ts'
import { largestDifference } from './testing/largest-difference.ts'
import { marginVectors } from './testing/margin-vectors.ts'

describe('shinProbabilities', () => {
  test.for(marginVectors('shin'))('agrees to 1e-12 with 60 digits: $name', (vector) => {
    const { probabilities, parameter } = shinProbabilities(vector.prices)
    expect(largestDifference(probabilities, vector.probabilities)).toBeLessThan(1e-12)
    expect(Math.abs(parameter - vector.parameter)).toBeLessThan(1e-9 * (1 + Math.abs(parameter)))
  })

  test('equals the additive method for two outcomes', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1.01, max: 50, noNaN: true }),
        fc.double({ min: 1.01, max: 50, noNaN: true }),
        (first, other) => {
          expect(
            largestDifference(
              shinProbabilities([first, other]).probabilities,
              additiveProbabilities([first, other]).probabilities,
            ),
          ).toBeLessThan(1e-11)
        },
      ),
    )
  })

  test('the share of insiders has the sign of the margin', () => {
    fc.assert(
      fc.property(anyBook({ low: 0.6, high: 1.45 }), (prices) => {
        const margin = prices.reduce((sum, price) => sum + 1 / price, 0) - 1
        fc.pre(Math.abs(margin) > 1e-9)
        expect(Math.sign(shinProbabilities(prices).parameter)).toBe(Math.sign(margin))
      }),
    )
  })

  test('a nearly impossible third outcome leaves the other two the smaller share the closed form gives them', () => {
    const three = shinProbabilities([1.9, 1.95, 1e6]).probabilities
    const two = shinProbabilities([1.9, 1.95]).probabilities
    expect(largestDifference(three.slice(0, 2), two)).toBeLessThan(1e-4)
  })
})
