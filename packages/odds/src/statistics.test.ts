import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import vectors from '../vectors/normal.json' with { type: 'json' }
import statistics from '../vectors/statistics.json' with { type: 'json' }
import { chiSquareTail, normalCdf, picksNeeded, wilsonInterval } from './statistics.ts'

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

  test('is 0 and 1 at the infinities, and NaN for NaN', () => {
    expect([normalCdf(-Infinity), normalCdf(Infinity)]).toEqual([0, 1])
    expect(normalCdf(Number.NaN)).toBeNaN()
  })
})

describe('chiSquareTail', () => {
  test.for(statistics.chiSquare)('golden: $value, $degrees degrees', (vector) => {
    const found = chiSquareTail(vector.value, vector.degrees)
    expect(Math.abs(found / vector.tail - 1)).toBeLessThan(1e-11)
  })

  test('is 1 up to 0, NaN for NaN, and refuses half a degree', () => {
    expect([chiSquareTail(0, 3), chiSquareTail(-1, 2)]).toEqual([1, 1])
    expect(chiSquareTail(Number.NaN, 2)).toBeNaN()
    for (const degrees of [0, -1, 1.5]) expect(() => chiSquareTail(1, degrees)).toThrow(RangeError)
  })

  test('falls as the value grows, rises with the degrees', () => {
    const value = fc.double({ min: 1, max: 80, noNaN: true })
    fc.assert(
      fc.property(value, fc.integer({ min: 1, max: 8 }), (at, degrees) => {
        expect(chiSquareTail(at + 0.1, degrees)).toBeLessThan(chiSquareTail(at, degrees))
        expect(chiSquareTail(at, degrees + 1)).toBeGreaterThan(chiSquareTail(at, degrees))
      }),
    )
  })
})

describe('wilsonInterval', () => {
  // Newcombe (1998), "Two-sided confidence intervals for the single proportion", table I, method 3.
  test.for([
    { successes: 81, trials: 263, low: 0.2553, high: 0.3662 },
    { successes: 15, trials: 148, low: 0.0624, high: 0.1605 },
    { successes: 0, trials: 20, low: 0, high: 0.1611 },
    { successes: 1, trials: 29, low: 0.0061, high: 0.1718 },
  ])('$successes of $trials, as published', ({ successes, trials, low, high }) => {
    const interval = wilsonInterval({ successes, trials })
    expect(interval.low).toBeCloseTo(low, 4)
    expect(interval.high).toBeCloseTo(high, 4)
  })

  test('contains the observed share, lies within 0–1, and mirrors with it', () => {
    fc.assert(
      fc.property(fc.nat(2000), fc.nat(2000), (successes, failures) => {
        const trials = successes + failures
        fc.pre(trials > 0)
        const { low, high } = wilsonInterval({ successes, trials })
        expect(low).toBeGreaterThanOrEqual(0)
        expect(low).toBeLessThanOrEqual(successes / trials)
        expect(high).toBeGreaterThanOrEqual(successes / trials)
        expect(high).toBeLessThanOrEqual(1)
        const mirrored = wilsonInterval({ successes: failures, trials })
        expect(mirrored.low).toBeCloseTo(1 - high, 12)
      }),
    )
  })

  test('both bounds solve the score equation that defines them', () => {
    const { low, high } = wilsonInterval({ successes: 7, trials: 30 }, 1.5)
    for (const bound of [low, high])
      expect(Math.abs(7 / 30 - bound) / Math.sqrt((bound * (1 - bound)) / 30)).toBeCloseTo(1.5, 12)
  })

  test('without trials nothing is known', () => {
    expect(wilsonInterval({ successes: 0, trials: 0 })).toEqual({ low: 0, high: 1 })
  })

  test.for([
    { successes: 2, trials: 1 },
    { successes: -1, trials: 1 },
    { successes: Number.NaN, trials: 1 },
  ])('$successes of $trials throws a RangeError', (sample) => {
    expect(() => wilsonInterval(sample)).toThrow(RangeError)
  })
})

test('a 3 % edge takes 29 picks to see by closing-line value and 8,729 by return', () => {
  expect(picksNeeded({ edge: 0.03, deviation: 0.082 })).toBe(29)
  expect(picksNeeded({ edge: 0.03, deviation: 1.43 })).toBe(8729)
})

test('a loss is as easy to see as a gain; no edge is never seen', () => {
  expect(picksNeeded({ edge: -0.03, deviation: 0.082 })).toBe(29)
  expect(picksNeeded({ edge: 0, deviation: 0.082 })).toBe(Infinity)
})
