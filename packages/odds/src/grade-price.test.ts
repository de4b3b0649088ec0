import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import golden from '../vectors/golden.json' with { type: 'json' }
import { gradePrice } from './grade-price.ts'
import type { MarginMethod } from './margin-removal.ts'
import { removeMargin } from './remove-margin.ts'
import { anyBook } from './testing/any-book.ts'
import { fairProbabilities } from './testing/fair-probabilities.ts'

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

  test('at the closing price one pays the margin: C, and the close was not beaten', () => {
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

  test('with only the selection’s close recorded the letters go by price, on a basis of their own', () => {
    expect(gradePrice({ taken: 2.2, close: 2.05 })).toEqual({
      basis: 'price',
      band: 'A',
      price: expect.closeTo(0.07317073170731707, 12),
      beatClose: true,
      gradeMargin: expect.closeTo(0.006829268, 12),
      isCapped: false,
    })
  })

  test('exposure scales the value of a line that can push', () => {
    const grade = gradePrice({
      taken: 1.97,
      close: 1.88,
      fairProbability: 0.518_663,
      exposure: 0.5,
    })
    expect(grade).toMatchObject({ fair: expect.closeTo(0.5 * (1.97 * 0.518_663 - 1), 14) })
  })

  test('G1: a price below the close of its selection never grades above C, whatever the booksum and method', () => {
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

  test('with a booksum of 1 or more a price below the close has no value above the rounding, without any cap', () => {
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

  test('below a booksum of 1 the cap bites and says so', () => {
    expect(graded({ prices: [2.2, 4, 4.2], selection: 0, taken: 2.19 })).toMatchObject({
      band: 'C',
      isCapped: true,
      fair: expect.closeTo(2.19 * 0.473_971_473_239 - 1, 10),
    })
  })
})
