import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DECIMAL_ODDS_MAX } from './odds.ts'
import {
  additiveProbabilities,
  BOOKSUM_MAX,
  BOOKSUM_MIN,
  booksum,
  type MarginMethod,
  multiplicativeProbabilities,
  OUTCOMES_MAX,
  removeMargin,
} from './remove-margin.ts'
import { anyBook } from './testing/any-book.ts'
import { fairProbabilities } from './testing/fair-probabilities.ts'
import { largestDifference } from './testing/largest-difference.ts'
import { marginVectors } from './testing/margin-vectors.ts'

test.for([
  { prices: [2, 2], sum: 1 },
  { prices: [2, 4, 4], sum: 1 },
  { prices: [1.5, 2.74], sum: 1.031630170316302 },
  { prices: [2.2, 4, 4.2], sum: 0.9426406926406926 },
  { prices: [], sum: 0 },
])('the booksum of $prices is $sum', ({ prices, sum }) => {
  expect(booksum(prices)).toBeCloseTo(sum, 15)
})

describe('multiplicativeProbabilities', () => {
  test.for(marginVectors('multiplicative'))('agrees to 1e-12 with 60 digits: $name', (vector) => {
    const { probabilities, parameter } = multiplicativeProbabilities(vector.prices)
    expect(largestDifference(probabilities, vector.probabilities)).toBeLessThan(1e-12)
    expect(Math.abs(parameter - vector.parameter)).toBeLessThan(1e-9 * (1 + Math.abs(parameter)))
  })

  test('does not change when every price is multiplied by the same factor', () => {
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

describe('additiveProbabilities', () => {
  test.for(marginVectors('additive'))('agrees to 1e-12 with 60 digits: $name', (vector) => {
    const { probabilities, parameter } = additiveProbabilities(vector.prices)
    expect(largestDifference(probabilities, vector.probabilities)).toBeLessThan(1e-12)
    expect(Math.abs(parameter - vector.parameter)).toBeLessThan(1e-9 * (1 + Math.abs(parameter)))
  })

  test('does not change when every inverse price grows by the same amount', () => {
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

const proper: readonly MarginMethod[] = ['power', 'shin', 'odds_ratio', 'multiplicative']
const methods: readonly MarginMethod[] = [...proper, 'additive']
const runs = process.env.TALLYSTICK_LONG === '1' ? 20_000 : 300
const wide = anyBook({ low: BOOKSUM_MIN + 0.001, high: BOOKSUM_MAX - 0.001 })

describe.for(proper)('%s, on any book of 2–30 outcomes', (method) => {
  test('probabilities lie between 0 and 1 and sum to one', () => {
    fc.assert(
      fc.property(wide, (prices) => {
        const probabilities = fairProbabilities(prices, method)
        const sum = probabilities.reduce((left, right) => left + right, 0)
        expect(Math.abs(sum - 1)).toBeLessThan(1e-13)
        for (const probability of probabilities) {
          expect(probability).toBeGreaterThan(0)
          expect(probability).toBeLessThan(1)
        }
      }),
      { numRuns: runs },
    )
  })

  test('the shorter of two prices has the higher probability, equal prices have equal ones', () => {
    fc.assert(
      fc.property(wide, (prices) => {
        const probabilities = fairProbabilities(prices, method)
        const byPrice = prices
          .map((price, index) => ({ price, probability: probabilities[index] ?? Number.NaN }))
          .toSorted((left, right) => left.price - right.price)
        for (const [index, { price, probability }] of byPrice.entries()) {
          const next = byPrice[index + 1]
          if (next === undefined) continue
          const rise = next.probability - probability
          expect(next.price === price ? Math.abs(rise) : rise).toBeLessThanOrEqual(0)
        }
      }),
      { numRuns: runs },
    )
  })

  test('the order of the outcomes does not matter', () => {
    fc.assert(
      fc.property(wide, (prices) => {
        const forwards = fairProbabilities(prices, method)
        const backwards = fairProbabilities(prices.toReversed(), method).toReversed()
        for (const [index, probability] of forwards.entries())
          expect(Math.abs(probability - (backwards[index] ?? Number.NaN))).toBeLessThan(1e-13)
      }),
      { numRuns: runs },
    )
  })

  test('lengthening one price alone makes its outcome less likely', () => {
    fc.assert(
      fc.property(
        anyBook({ low: 0.95, high: 1.3 }),
        fc.double({ min: 1.001, max: 1.05, noNaN: true }),
        ([first = 2, ...others], factor) => {
          const [before = 0] = fairProbabilities([first, ...others], method)
          const [after = 0] = fairProbabilities([first * factor, ...others], method)
          expect(after).toBeLessThan(before)
        },
      ),
      { numRuns: runs },
    )
  })

  test('with a margin no outcome is likelier than its inverse price; below a booksum of 1 none is less likely', () => {
    fc.assert(
      fc.property(wide, (prices) => {
        const overround = prices.reduce((sum, price) => sum + 1 / price, 0)
        const direction = overround >= 1 ? 1 : -1
        for (const [index, probability] of fairProbabilities(prices, method).entries())
          expect(direction * (probability - 1 / (prices[index] ?? 1))).toBeLessThan(1e-13)
      }),
      { numRuns: runs },
    )
  })

  test('n equal prices share the probability', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 200 }),
        fc.double({ min: 0.6, max: 1.45, noNaN: true }),
        (count, sum) => {
          fc.pre(count / sum > 1)
          const prices = Array.from({ length: count }, () => count / sum)
          for (const probability of fairProbabilities(prices, method))
            expect(Math.abs(probability * count - 1)).toBeLessThan(1e-12)
        },
      ),
    )
  })
})

describe.for(methods)('%s', (method) => {
  test('returns the inverse prices of a book without margin', () => {
    expect(fairProbabilities([2, 4, 4], method)).toEqual([0.5, 0.25, 0.25])
  })

  test.for(marginVectors(method))('says whether every probability is proper: $name', (vector) => {
    const removal = removeMargin(vector.prices, method)
    const isProper = vector.probabilities.every((probability) => probability > 0 && probability < 1)
    expect(removal).toMatchObject({
      kind: isProper ? 'fair' : 'improper',
      booksum: expect.closeTo(vector.booksum, 12),
    })
  })
})

describe('removeMargin', () => {
  test('uses the power method by default', () => {
    expect(removeMargin([2.6, 2.4, 4.3])).toEqual(removeMargin([2.6, 2.4, 4.3], 'power'))
    expect(removeMargin([2.6, 2.4, 4.3])).toMatchObject({ kind: 'fair', method: 'power' })
  })

  test('an additive probability that is not positive is an improper outcome with its numbers, not an exception', () => {
    const removal = removeMargin([1 / 0.87, 5, 10, 20, 50, 100], 'additive')
    expect(removal).toMatchObject({ kind: 'improper', method: 'additive' })
    const lowest = removal.kind === 'improper' ? Math.min(...removal.probabilities) : 0
    expect(lowest).toBeCloseTo(-0.0316666666666667, 12)
  })

  test.for([
    { prices: [], reason: 'too_few_outcomes', position: undefined },
    { prices: [1.9], reason: 'too_few_outcomes', position: undefined },
    {
      prices: Array.from({ length: OUTCOMES_MAX + 1 }, () => 900),
      reason: 'too_many_outcomes',
      position: undefined,
    },
    { prices: [2, Number.NaN, 4], reason: 'price_out_of_range', position: 1 },
    { prices: [2, 4, 1], reason: 'price_out_of_range', position: 2 },
    { prices: [0.0001, 4], reason: 'price_out_of_range', position: 0 },
    { prices: [-2, 4], reason: 'price_out_of_range', position: 0 },
    { prices: [2, Infinity], reason: 'price_out_of_range', position: 1 },
    { prices: [2, DECIMAL_ODDS_MAX + 1], reason: 'price_out_of_range', position: 1 },
    { prices: [1.3, 1.3], reason: 'booksum_out_of_range', position: undefined },
    { prices: [4, 4.1], reason: 'booksum_out_of_range', position: undefined },
  ])('refuses $prices.length prices as $reason', ({ prices, reason, position }) => {
    expect(removeMargin(prices)).toEqual({ kind: 'refused', reason, position })
  })

  test('accepts as many outcomes as the limit allows', () => {
    const prices = Array.from({ length: OUTCOMES_MAX }, () => OUTCOMES_MAX / 1.2)
    expect(removeMargin(prices).kind).toBe('fair')
  })

  test('does not change its input', () => {
    const prices = Object.freeze([2.05, 3.55, 3.9])
    for (const method of methods) expect(removeMargin(prices, method).kind).toBe('fair')
  })
})
