import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { addCluster } from './add-cluster.ts'
import { NO_CLUSTERS } from './cluster-totals.ts'
import { removeCluster } from './remove-cluster.ts'

test('with whole-number sums, totals after corrections equal a full recount', () => {
  const cluster = fc.record({
    count: fc.integer({ min: 1, max: 40 }),
    sum: fc.integer({ min: -100_000, max: 100_000 }),
  })
  fc.assert(
    fc.property(fc.array(cluster), fc.array(cluster), (kept, corrected) => {
      const all = [...kept, ...corrected].reduce(addCluster, NO_CLUSTERS)
      expect(corrected.reduce(removeCluster, all)).toEqual(kept.reduce(addCluster, NO_CLUSTERS))
    }),
  )
})
