import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clusterRegression, type RegressionPoint } from './cluster-regression.fixture.ts'

const makeLine = (points: readonly RegressionPoint[]) => {
  const found = clusterRegression(points)
  if (found.kind !== 'line') throw new Error('insufficient')
  return found
}

/** The sandwich (X'X)⁻¹ Σ u u' (X'X)⁻¹ by 2 × 2 matrices, without centring, straight from the definition. */
const sandwichErrors = (points: readonly RegressionPoint[]): readonly [number, number] => {
  const { intercept, slope, clusters } = makeLine(points)
  const n = points.length
  const sx = points.reduce((sum, { x }) => sum + x, 0)
  const sxx = points.reduce((sum, { x }) => sum + x * x, 0)
  const det = n * sxx - sx * sx
  const [a, b, d] = [sxx / det, -sx / det, n / det]
  let [m11, m12, m22] = [0, 0, 0]
  for (const cluster of new Set(points.map((point) => point.cluster))) {
    let [u1, u2] = [0, 0]
    for (const { x, y } of points.filter((point) => point.cluster === cluster)) {
      u1 += y - intercept - slope * x
      u2 += x * (y - intercept - slope * x)
    }
    m11 += u1 * u1
    m12 += u1 * u2
    m22 += u2 * u2
  }
  const factor = ((clusters / (clusters - 1)) * (n - 1)) / (n - 2)
  const v11 = a * (a * m11 + b * m12) + b * (a * m12 + b * m22)
  const v22 = b * (b * m11 + d * m12) + d * (b * m12 + d * m22)
  // This form yields a zero variance as a rounding error of either sign.
  return [Math.sqrt(factor * Math.max(0, v11)), Math.sqrt(factor * Math.max(0, v22))]
}

describe('clusterRegression', () => {
  test('finds an exact line, without error', () => {
    const found = makeLine([0, 1, 2, 3].map((x) => ({ cluster: x, x, y: 0.5 - 2 * x })))
    expect(found).toMatchObject({ count: 4, clusters: 4 })
    expect(found.intercept).toBeCloseTo(0.5, 14)
    expect(found.slope).toBeCloseTo(-2, 14)
    expect(found.slopeError).toBeCloseTo(0, 13)
  })

  test('its errors are those of the cluster-robust sandwich', () => {
    const point = fc.record({
      cluster: fc.integer({ min: 0, max: 6 }),
      x: fc.double({ min: -1, max: 1, noNaN: true }),
      y: fc.double({ min: -1, max: 5, noNaN: true }),
    })
    fc.assert(
      fc.property(fc.array(point, { minLength: 6, maxLength: 60 }), (points) => {
        const mean = points.reduce((sum, { x }) => sum + x, 0) / points.length
        fc.pre(points.reduce((sum, { x }) => sum + (x - mean) ** 2, 0) > 0.1)
        fc.pre(new Set(points.map(({ cluster }) => cluster)).size > 1)
        const found = makeLine(points)
        const [interceptError, slopeError] = sandwichErrors(points)
        expect(found.interceptError).toBeCloseTo(interceptError, 6)
        expect(found.slopeError).toBeCloseTo(slopeError, 6)
      }),
    )
  })

  test('the order of points and the names of clusters do not matter', () => {
    const points = [3, 1, 4, 1, 5, 9, 2, 6].map((y, x) => ({ cluster: x % 3, x: x / 7, y }))
    const renamed = points.toReversed().map((point) => ({ ...point, cluster: `c${point.cluster}` }))
    const [left, right] = [makeLine(points), makeLine(renamed)]
    expect(right.slope).toBeCloseTo(left.slope, 13)
    expect(right.slopeError).toBeCloseTo(left.slopeError, 13)
  })

  test.for([
    { why: 'no points', points: [] },
    { why: 'two points', points: [1, 2].map((x) => ({ cluster: x, x, y: x })) },
    { why: 'no spread of x', points: [1, 2, 3].map((y) => ({ cluster: y, x: 1, y })) },
    { why: 'one cluster', points: [1, 2, 3].map((x) => ({ cluster: 1, x, y: x })) },
  ])('$why is insufficient', ({ points }) => {
    expect(clusterRegression(points)).toEqual({ kind: 'insufficient' })
  })
})
