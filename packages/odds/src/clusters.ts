import { DEVIATIONS_95, type Interval } from './statistics.ts'

/**
 * Sums over clusters, sufficient for a mean and its cluster-robust interval. A cluster holds values that are not
 * independent, such as all bets on one event.
 */
export type ClusterTotals = {
  readonly clusters: number
  /** Values in all clusters. */
  readonly count: number
  /** Sum of all values. */
  readonly sum: number
  /** Sum over clusters of the squared cluster sum. */
  readonly sumSquared: number
  /** Sum over clusters of cluster sum times cluster count. */
  readonly sumTimesCount: number
  /** Sum over clusters of the squared cluster count. */
  readonly countSquared: number
}

/** The sums over clusters that each hold `count` values of this `sum`. */
export function clusterTotals(
  each: Iterable<{ readonly count: number; readonly sum: number }>,
): ClusterTotals {
  const totals = {
    clusters: 0,
    count: 0,
    sum: 0,
    sumSquared: 0,
    sumTimesCount: 0,
    countSquared: 0,
  }
  for (const { count, sum } of each) {
    totals.clusters += 1
    totals.count += count
    totals.sum += sum
    totals.sumSquared += sum * sum
    totals.sumTimesCount += sum * count
    totals.countSquared += count * count
  }
  return totals
}

/** A mean with its interval; fewer than two clusters have none. */
export type ClusterMean =
  | ({ readonly kind: 'mean'; readonly mean: number; readonly standardError: number } & Interval)
  | { readonly kind: 'insufficient' }

/**
 * The mean of clustered values with its cluster-robust interval, 95 % by default: variance = G / (G - 1) · Σ (sum - mean
 * · count)² / N² over G clusters and N values (Liang and Zeger 1986, with the usual correction for few clusters). Bets on
 * one event settle together; if they were counted as independent, the interval would be too narrow.
 */
export function clusterInterval(
  totals: ClusterTotals,
  deviations: number = DEVIATIONS_95,
): ClusterMean {
  const { clusters, count, sum } = totals
  if (clusters < 2 || count <= 0) return { kind: 'insufficient' }
  const mean = sum / count
  const squares =
    totals.sumSquared - 2 * mean * totals.sumTimesCount + mean * mean * totals.countSquared
  // Equal values leave a difference of equal terms, which rounding may push below zero.
  const variance = ((clusters / (clusters - 1)) * Math.max(0, squares)) / (count * count)
  const standardError = Math.sqrt(variance)
  const half = deviations * standardError
  return { kind: 'mean', mean, standardError, low: mean - half, high: mean + half }
}
