import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import vectors from '../vectors/statistics.json' with { type: 'json' }
import { jointTest } from './joint-test.ts'

const tested = (estimated: Parameters<typeof jointTest>[0]) => {
  const found = jointTest(estimated)
  if (found.kind !== 'tested') throw new Error('insufficient')
  return found
}

describe('jointTest', () => {
  test.for(vectors.joint)('golden: $degrees estimates', (vector) => {
    const found = tested(vector)
    expect(found.chiSquare / vector.chiSquare).toBeCloseTo(1, 9)
    expect(found.degrees).toBe(vector.degrees)
    expect(found.probability).toBeCloseTo(vector.probability, 9)
  })

  test('six small gaps in one direction are one large one', () => {
    const six = [1.5, 1.5, 1.5, 1.5, 1.5, 1.5]
    const covariance = six.map((_row, i) => six.map((_cell, j) => (i === j ? 1 : 0)))
    const { probability } = tested({ estimates: six, covariance })
    expect(probability).toBeLessThan(0.05)
    expect(tested({ estimates: [1.5], covariance: [[1]] }).probability).toBeGreaterThan(0.1)
  })

  test('an estimate that others determine, or that does not vary, counts for nothing', () => {
    const single = tested({ estimates: [1], covariance: [[2]] })
    const doubled = tested({
      estimates: [1, 2, 0],
      covariance: [
        [2, 4, 0],
        [4, 8, 0],
        [0, 0, 0],
      ],
    })
    expect(doubled).toEqual(single)
    expect(jointTest({ estimates: [1], covariance: [[0]] })).toEqual({ kind: 'insufficient' })
    expect(jointTest({ estimates: [], covariance: [] })).toEqual({ kind: 'insufficient' })
  })

  test('the order of estimates does not matter, nor their units', () => {
    const size = fc.double({ min: -2, max: 2, noNaN: true })
    fc.assert(
      fc.property(size, size, fc.double({ min: -0.9, max: 0.9, noNaN: true }), (a, b, shared) => {
        const found = tested({
          estimates: [a, b],
          covariance: [
            [1, shared],
            [shared, 1],
          ],
        })
        const turned = tested({
          estimates: [b * 100, a],
          covariance: [
            [10_000, shared * 100],
            [shared * 100, 1],
          ],
        })
        expect(turned.chiSquare).toBeCloseTo(found.chiSquare, 9)
      }),
    )
  })

  test('refuses a matrix of another size', () => {
    expect(() => jointTest({ estimates: [1, 2], covariance: [[1]] })).toThrow(RangeError)
  })
})
