import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ClusterTotals, clusterInterval } from './clusters.ts'

type Cluster = { readonly count: number; readonly sum: number }

const addTotals = (clusters: readonly Cluster[]): ClusterTotals => {
  const addUp = (read: (cluster: Cluster) => number): number =>
    clusters.reduce((sum, cluster) => sum + read(cluster), 0)
  return {
    clusters: clusters.length,
    count: addUp(({ count }) => count),
    sum: addUp(({ sum }) => sum),
    sumSquared: addUp(({ sum }) => sum * sum),
    sumTimesCount: addUp(({ count, sum }) => sum * count),
    countSquared: addUp(({ count }) => count * count),
  }
}

const computeInterval = (clusters: readonly Cluster[]) => {
  const found = clusterInterval(addTotals(clusters))
  return found.kind === 'mean'
    ? found
    : { mean: Number.NaN, standardError: Number.NaN, low: Number.NaN, high: Number.NaN }
}

describe('clusterInterval', () => {
  test('for clusters of one it is the textbook standard error of a mean', () => {
    const values = [1.1, -1, 0.4, -1, 0.9, 2.3, -1]
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
    const found = computeInterval(values.map((value) => ({ count: 1, sum: value })))
    expect(found.mean).toBeCloseTo(mean, 14)
    expect(found.standardError).toBeCloseTo(Math.sqrt(squares / 6 / 7), 14)
    expect(found.high - found.low).toBeCloseTo(2 * 1.959963984540054 * found.standardError, 14)
  })

  test('agrees with the definition, cluster by cluster', () => {
    const cluster = fc.record({
      count: fc.integer({ min: 1, max: 9 }),
      sum: fc.double({ min: -9, max: 30, noNaN: true }),
    })
    fc.assert(
      fc.property(fc.array(cluster, { minLength: 2, maxLength: 50 }), (clusters) => {
        const count = clusters.reduce((sum, part) => sum + part.count, 0)
        const mean = clusters.reduce((sum, part) => sum + part.sum, 0) / count
        const squares = clusters.reduce((sum, part) => sum + (part.sum - mean * part.count) ** 2, 0)
        const factor = clusters.length / (clusters.length - 1)
        expect(computeInterval(clusters).standardError).toBeCloseTo(
          Math.sqrt(factor * squares) / count,
          6,
        )
      }),
    )
  })

  test('m copies of every value in its cluster leave the interval unchanged: they are no evidence', () => {
    const once = [1.5, -1, 0.2, -1, 3].map((sum) => ({ count: 1, sum }))
    const copied = once.map(({ sum }) => ({ count: 10, sum: 10 * sum }))
    expect(computeInterval(copied).standardError).toBeCloseTo(
      computeInterval(once).standardError,
      13,
    )
  })

  test('equal values have a zero-width interval', () => {
    const found = computeInterval([0.1, 0.1, 0.1].map((sum) => ({ count: 1, sum })))
    expect(found.high - found.low).toBeLessThan(1e-7)
  })

  test.for([0, 1])('%s clusters are insufficient', (clusters) => {
    const some = Array.from({ length: clusters }, () => ({ count: 9, sum: 3 }))
    expect(clusterInterval(addTotals(some))).toEqual({ kind: 'insufficient' })
  })
})
