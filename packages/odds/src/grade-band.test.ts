import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fairClv } from './fair-clv.ts'
import { gradeBand } from './grade-band.ts'
import { GRADE_BANDS } from './grade-bands.ts'
import { fairProbabilities } from './testing/fair-probabilities.ts'

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
      fc.property(value, value, (one, other) => {
        const better = order.indexOf(gradeBand(Math.max(one, other)))
        expect(better).toBeLessThanOrEqual(order.indexOf(gradeBand(Math.min(one, other))))
      }),
    )
  })

  test('the fair price of a symmetric book is B, whatever its margin', () => {
    for (let cents = 170; cents < 200; cents += 0.25) {
      const [fairProbability = 0] = fairProbabilities([cents / 100, cents / 100])
      expect(gradeBand(fairClv({ taken: 2, fairProbability }))).toBe('B')
    }
  })

  test('no number has no grade', () => {
    expect(() => gradeBand(Number.NaN)).toThrow(RangeError)
  })
})
