import { expect, test } from 'vitest'
import { addCluster } from './add-cluster.ts'
import { NO_CLUSTERS } from './cluster-totals.ts'

test('keeps the five sums and the number of clusters', () => {
  const totals = [
    { count: 2, sum: 3 },
    { count: 1, sum: -1 },
  ].reduce(addCluster, NO_CLUSTERS)
  expect(totals).toEqual({
    clusters: 2,
    count: 3,
    sum: 2,
    sumSquared: 10,
    sumTimesCount: 5,
    countSquared: 5,
  })
})
