import type { Cluster, ClusterTotals } from './cluster-totals.ts'

/**
 * Totals without a cluster that was added before, for corrections. Exact where sums are whole numbers (count returns in
 * hundredths, say); with fractions the last bits may differ from a fresh recount.
 */
export function removeCluster(totals: ClusterTotals, { count, sum }: Cluster): ClusterTotals {
  return {
    clusters: totals.clusters - 1,
    count: totals.count - count,
    sum: totals.sum - sum,
    sumSquared: totals.sumSquared - sum * sum,
    sumTimesCount: totals.sumTimesCount - sum * count,
    countSquared: totals.countSquared - count * count,
  }
}
