/** One cluster: values that are not independent of each other, such as all bets on one event. */
export type Cluster = {
  /** How many values it has. */
  readonly count: number
  /** Their sum. */
  readonly sum: number
}

/** Five sums over clusters that suffice for a mean and its cluster-robust interval, kept in constant time. */
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

/** Totals of no cluster at all. */
export const NO_CLUSTERS: ClusterTotals = {
  clusters: 0,
  count: 0,
  sum: 0,
  sumSquared: 0,
  sumTimesCount: 0,
  countSquared: 0,
}
