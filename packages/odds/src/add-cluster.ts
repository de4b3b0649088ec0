import type { Cluster, ClusterTotals } from './cluster-totals.ts'

/** Totals with one more whole cluster. A cluster that grows or is corrected is first removed, then added anew. */
export function addCluster(totals: ClusterTotals, { count, sum }: Cluster): ClusterTotals {
  return {
    clusters: totals.clusters + 1,
    count: totals.count + count,
    sum: totals.sum + sum,
    sumSquared: totals.sumSquared + sum * sum,
    sumTimesCount: totals.sumTimesCount + sum * count,
    countSquared: totals.countSquared + count * count,
  }
}
