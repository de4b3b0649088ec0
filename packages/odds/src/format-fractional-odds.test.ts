import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatFractionalOdds } from './format-fractional-odds.ts'

describe('formatFractionalOdds', () => {
  test.for([
    { decimal: 2.2, text: '6/5' },
    { decimal: 21 / 11, text: '10/11' },
    { decimal: 13 / 3, text: '10/3' },
    { decimal: 51, text: '50/1' },
    { decimal: 2, text: '1/1' },
    { decimal: 1.001, text: '1/100' },
    { decimal: 1.000_001, text: '1/100' },
  ])('$decimal is $text', ({ decimal, text }) => {
    expect(formatFractionalOdds(decimal)).toBe(text)
  })

  test.for([1, 0.5, Number.NaN, Infinity])('%s throws a RangeError', (decimal) => {
    expect(() => formatFractionalOdds(decimal)).toThrow(RangeError)
    expect(() => formatFractionalOdds(2, 0.5)).toThrow(RangeError)
  })

  test('no fraction with a stake within the limit and a profit is nearer', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1.000_1, max: 60, noNaN: true }),
        fc.integer({ min: 1, max: 60 }),
        (decimal, stakeMax) => {
          const [profit = 0, stake = 0] = formatFractionalOdds(decimal, stakeMax)
            .split('/')
            .map(Number)
          expect(stake).toBeLessThanOrEqual(stakeMax)
          const distance = Math.abs(profit / stake - (decimal - 1))
          for (let other = 1; other <= stakeMax; other++) {
            const best = Math.max(1, Math.round((decimal - 1) * other))
            expect(distance).toBeLessThanOrEqual(Math.abs(best / other - (decimal - 1)) + 1e-15)
          }
        },
      ),
    )
  })
})
