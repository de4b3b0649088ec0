import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { poissonMasses } from './poisson-masses.ts'

test('mean and variance are the mean that was asked for', () => {
  fc.assert(
    fc.property(fc.double({ min: 0.01, max: 10, noNaN: true }), (mean) => {
      const masses = poissonMasses({ mean, most: 60 })
      let [sum, first, second] = [0, 0, 0]
      for (const [count, mass] of masses.entries()) {
        sum += mass
        first += count * mass
        second += (count - mean) ** 2 * mass
      }
      expect(sum).toBeCloseTo(1, 12)
      expect(first).toBeCloseTo(mean, 10)
      expect(second).toBeCloseTo(mean, 9)
    }),
  )
})

test('no event at mean 1 has probability 1/e', () => {
  expect(poissonMasses({ mean: 1, most: 0 })).toEqual([Math.exp(-1)])
})
