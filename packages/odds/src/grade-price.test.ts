import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import golden from '../vectors/golden.json' with { type: 'json' }
import {
  bandPrice,
  fairClv,
  GRADE_BANDS,
  gradeBand,
  gradeMargin,
  gradePrice,
  logClv,
  pointsClv,
  priceClv,
  toBillionths,
} from './grade-price.ts'
import { type MarginMethod, removeMargin } from './remove-margin.ts'
import { anyBook } from './testing/any-book.ts'
import { fairProbabilities } from './testing/fair-probabilities.ts'

test.for([
  { value: 0.08, billionths: 80_000_000 },
  { value: -0.04, billionths: -40_000_000 },
  { value: 1e-10, billionths: 0 },
  { value: -1e-10, billionths: 0 },
  { value: -0, billionths: 0 },
  { value: 5e-10, billionths: 1 },
  { value: -5e-10, billionths: -1 },
])('$value is $billionths', ({ value, billionths }) => {
  expect(toBillionths(value)).toBe(billionths)
})

test('a value and its negative round alike', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 2, noNaN: true }), (value) => {
      expect(toBillionths(-value) + toBillionths(value)).toBe(0)
    }),
  )
})

describe('G1: A+ ≥ 8 %, A ≥ 4 %, B ≥ 0, C ≥ −4 %, D ≥ −8 %, F below, rounded to 1e-9 first', () => {
  test.for([
    { value: 0.08, band: 'A+' },
    { value: 0.079_999_999_6, band: 'A+' },
    { value: 0.079_999_999_4, band: 'A' },
    { value: 0.04, band: 'A' },
    { value: 0.039_999_999, band: 'B' },
    { value: 0, band: 'B' },
    { value: -0.000_000_000_4, band: 'B' },
    { value: -0.000_000_001, band: 'C' },
    { value: -0.04, band: 'C' },
    { value: -0.040_000_001, band: 'D' },
    { value: -0.08, band: 'D' },
    { value: -0.080_000_001, band: 'F' },
    { value: -1, band: 'F' },
    { value: -Infinity, band: 'F' },
    { value: Infinity, band: 'A+' },
  ])('$value is $band', ({ value, band }) => {
    expect(gradeBand(value)).toBe(band)
  })

  test('a higher value never has a worse band', () => {
    const order = GRADE_BANDS.map(({ band }) => band)
    const value = fc.double({ min: -0.2, max: 0.2, noNaN: true })
    fc.assert(
      fc.property(value, value, (left, right) => {
        const better = order.indexOf(gradeBand(Math.max(left, right)))
        expect(better).toBeLessThanOrEqual(order.indexOf(gradeBand(Math.min(left, right))))
      }),
    )
  })

  test('the fair price of a symmetric book is B, whatever its margin', () => {
    for (let cents = 170; cents < 200; cents += 0.25) {
      const [fairProbability = 0] = fairProbabilities([cents / 100, cents / 100])
      expect(gradeBand(fairClv({ taken: 2, fairProbability }))).toBe('B')
    }
  })

  test('NaN has no grade', () => {
    expect(() => gradeBand(Number.NaN)).toThrow(RangeError)
  })
})

test.for([
  { value: 0.08, margin: 0 },
  { value: 0.05, margin: 0.01 },
  { value: -0.001, margin: 0.001 },
  { value: -0.2, margin: 0.12 },
  { value: 0.5, margin: 0.42 },
])('$value lies $margin from the nearest edge', ({ value, margin }) => {
  expect(gradeMargin(value)).toBe(margin)
})

test.for(golden.grades)('golden: $name', ({ taken, close, selection, clv_price }) => {
  expect(priceClv({ taken: Number(taken), close: Number(close[selection]) })).toBeCloseTo(
    Number(clv_price),
    12,
  )
})

test('is exactly 0 at the closing price', () => {
  for (const close of [1.1, 1.91, 21 / 11, 3.3]) expect(priceClv({ taken: close, close })).toBe(0)
})

test.for(golden.grades)('golden, from the closing prices on: $name', (vector) => {
  const fairProbability = fairProbabilities(vector.close.map(Number))[vector.selection] ?? 0
  expect(fairProbability).toBeCloseTo(Number(vector.fair_prob), 12)
  const value = fairClv({ taken: Number(vector.taken), fairProbability })
  expect(value).toBeCloseTo(Number(vector.clv_fair), 12)
})

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

const poor = ['C', 'D', 'F']
const twenty = [5.5, 6.5, 7, 8, 9, 11, 13, 15, 17, 19, 21, 23, 26, 29, 34, 41, 51, 67, 81, 101]

const graded = (pick: { prices: readonly number[]; selection: number; taken: number }) =>
  gradePrice({
    taken: pick.taken,
    close: pick.prices[pick.selection] ?? Number.NaN,
    fairProbability: fairProbabilities(pick.prices)[pick.selection] ?? Number.NaN,
  })

describe('gradePrice', () => {
  test.for(golden.grades)('golden: $name', (vector) => {
    const prices = vector.close.map(Number)
    const pick = { prices, selection: vector.selection, taken: Number(vector.taken) }
    expect(graded(pick)).toMatchObject({
      basis: 'fair',
      band: vector.grade,
      price: expect.closeTo(Number(vector.clv_price), 12),
      fair: expect.closeTo(Number(vector.clv_fair), 12),
      log: expect.closeTo(Number(vector.clv_log), 12),
      isCapped: false,
    })
  })

  test('a bet at the closing price pays the margin: C, and the close was not beaten', () => {
    expect(graded({ prices: [1.92, 1.98], selection: 0, taken: 1.92 })).toMatchObject({
      band: 'C',
      price: 0,
      fair: expect.closeTo(-0.024665413869, 11),
      beatClose: false,
    })
  })

  test('a longshot can beat the close by far and still be a bad price', () => {
    const grade = graded({ prices: twenty, selection: 16, taken: 67 })
    expect(grade).toMatchObject({ band: 'F', beatClose: true })
    expect(grade.price).toBeCloseTo(67 / 51 - 1, 12)
  })

  test('if only the selection’s close was recorded, the letters go by price, on a separate basis', () => {
    expect(gradePrice({ taken: 2.2, close: 2.05 })).toEqual({
      basis: 'price',
      band: 'A',
      price: expect.closeTo(0.07317073170731707, 12),
      beatClose: true,
      gradeMargin: expect.closeTo(0.006829268, 12),
      isCapped: false,
    })
  })

  test('G1: a price below its selection’s close never grades above C, whatever the booksum and method', () => {
    fc.assert(
      fc.property(
        anyBook({ low: 0.55, high: 1.45 }),
        fc.constantFrom<MarginMethod>('power', 'shin', 'odds_ratio', 'multiplicative'),
        fc.double({ min: 0, max: 0.9999999999999999, noNaN: true }),
        (prices, method, share) => {
          const [fairProbability = Number.NaN] = fairProbabilities(prices, method)
          const [close = Number.NaN] = prices
          const taken = 1 + (close - 1) * share
          fc.pre(taken < close)
          expect(poor).toContain(gradePrice({ taken, close, fairProbability }).band)
          expect(poor).toContain(gradePrice({ taken, close }).band)
        },
      ),
      { numRuns: 1000 },
    )
  })

  test('with a booksum of 1 or more, a price below the close never has a value above the rounding, even without the cap', () => {
    fc.assert(
      fc.property(
        anyBook({ low: 1, high: 1.45 }),
        fc.double({ min: 0.5, max: 0.999_999, noNaN: true }),
        (prices, share) => {
          const removal = removeMargin(prices)
          fc.pre(removal.kind === 'fair' && removal.booksum >= 1)
          const [close = Number.NaN] = prices
          const taken = 1 + (close - 1) * share
          const grade = graded({ prices, selection: 0, taken })
          expect(grade).toMatchObject({ basis: 'fair' })
          expect(grade.basis === 'fair' ? grade.fair : Infinity).toBeLessThan(1e-12)
        },
      ),
    )
  })

  test('below a booksum of 1 the cap applies and says so', () => {
    expect(graded({ prices: [2.2, 4, 4.2], selection: 0, taken: 2.19 })).toMatchObject({
      band: 'C',
      isCapped: true,
      fair: expect.closeTo(2.19 * 0.473_971_473_239 - 1, 10),
    })
  })
})

test('band and value alone are those of the whole grade', () => {
  const price = fc.double({ min: 1.01, max: 50, noNaN: true })
  const probability = fc.option(fc.double({ min: 0.01, max: 0.99, noNaN: true }), {
    nil: undefined,
  })
  fc.assert(
    fc.property(price, price, probability, (taken, close, fairProbability) => {
      const input = { taken, close, ...(fairProbability === undefined ? {} : { fairProbability }) }
      const grade = gradePrice(input)
      const { band, isCapped } = grade
      const value = grade.basis === 'fair' ? grade.fair : grade.price
      expect(bandPrice({ taken, close, fairProbability })).toEqual({ band, isCapped, value })
    }),
  )
})
