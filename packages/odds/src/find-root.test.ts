import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findRoot } from './find-root.ts'

describe('findRoot', () => {
  test.for([
    { name: 'a line', valueAt: (at: number) => at - 0.3, root: 0.3 },
    { name: 'a steep curve', valueAt: (at: number) => at ** 9 - 0.001, root: 0.001 ** (1 / 9) },
    {
      name: 'a bent curve',
      valueAt: (at: number) => Math.log(at + 1e-12) + 20,
      root: Math.exp(-20) - 1e-12,
    },
    { name: 'a root at the bound', valueAt: (at: number) => at, root: 0 },
  ])('$name', ({ valueAt, root }) => {
    expect(findRoot({ low: 0, high: 1, valueAt })).toBeCloseTo(root, 14)
  })

  test('is undefined without a change of sign', () => {
    expect(findRoot({ low: 1, high: 2, valueAt: (at) => at })).toBeUndefined()
    expect(findRoot({ low: 1, high: 2, valueAt: (at) => -at })).toBeUndefined()
    expect(findRoot({ low: 1, high: 2, valueAt: () => Number.NaN })).toBeUndefined()
  })

  test('stays within 200 evaluations on a step, where no straight line helps', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.001, max: 0.999, noNaN: true }), (step) => {
        let evaluations = 0
        const root = findRoot({
          low: 0,
          high: 1,
          valueAt: (at) => {
            evaluations += 1
            return at < step ? -1e-9 : 1e9
          },
        })
        expect(root).toBeCloseTo(step, 12)
        expect(evaluations).toBeLessThan(202)
      }),
    )
  })
})
