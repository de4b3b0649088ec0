import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import vectors from '../vectors/normal.json' with { type: 'json' }
import { normalCdf } from './normal-cdf.ts'

describe('normalCdf', () => {
  test.for(vectors)('agrees with 60 digits at $z', ({ z, cdf }) => {
    const found = normalCdf(Number(z))
    expect(Math.abs(found - Number(cdf))).toBeLessThan(2e-15)
    expect(Math.abs(found / Number(cdf) - 1)).toBeLessThan(1e-12)
  })

  test('never falls, and both tails sum to one', () => {
    const anyZ = fc.double({ min: -40, max: 40, noNaN: true })
    fc.assert(
      fc.property(anyZ, fc.double({ min: 0, max: 0.1, noNaN: true }), (z, step) => {
        expect(normalCdf(z + step)).toBeGreaterThanOrEqual(normalCdf(z) - 1e-15)
        expect(normalCdf(z) + normalCdf(-z)).toBeCloseTo(1, 14)
      }),
    )
  })

  test('is 0 and 1 at the infinities, and no number for no number', () => {
    expect([normalCdf(-Infinity), normalCdf(Infinity)]).toEqual([0, 1])
    expect(normalCdf(Number.NaN)).toBeNaN()
  })
})
