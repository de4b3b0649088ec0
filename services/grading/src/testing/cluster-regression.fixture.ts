// Least squares by the definition, which the truth table must agree with from its running sums.

/** One observation: `y` (a realised return) at `x` (its closing-line value) in a cluster (its event). */
export type RegressionPoint = {
  readonly cluster: string | number
  readonly x: number
  readonly y: number
}

/** y = intercept + slope · x with cluster-robust standard errors, or nothing if no line fits. */
type ClusterRegression =
  | {
      readonly kind: 'line'
      readonly intercept: number
      readonly slope: number
      readonly interceptError: number
      readonly slopeError: number
      readonly count: number
      readonly clusters: number
    }
  /** Fewer than three points or two clusters, or no spread of x. */
  | { readonly kind: 'insufficient' }

/** Sums of a cluster's residuals, plain and times the distance of x from its mean. */
type ClusterScore = { plain: number; weighted: number }

/**
 * Least squares with cluster-robust standard errors (the sandwich of Liang and Zeger 1986 with the factor G / (G - 1) ·
 * (N - 1) / (N - 2)). For returns on closing-line values: a slope of 1 and an intercept of 0 say that grades are
 * calibrated; an intercept below 0 is a margin that was not removed.
 */
export function clusterRegression(points: readonly RegressionPoint[]): ClusterRegression {
  const count = points.length
  let [sumX, sumY] = [0, 0]
  for (const { x, y } of points) [sumX, sumY] = [sumX + x, sumY + y]
  const [meanX, meanY] = [sumX / count, sumY / count]
  let [spread, shared] = [0, 0]
  for (const { x, y } of points) {
    spread += (x - meanX) * (x - meanX)
    shared += (x - meanX) * (y - meanY)
  }
  if (count < 3 || !(spread > 0)) return { kind: 'insufficient' }
  const slope = shared / spread
  const scores = new Map<string | number, ClusterScore>()
  for (const { cluster, x, y } of points) {
    const residual = y - meanY - slope * (x - meanX)
    const score = scores.get(cluster)
    if (score === undefined)
      scores.set(cluster, { plain: residual, weighted: residual * (x - meanX) })
    else {
      score.plain += residual
      score.weighted += residual * (x - meanX)
    }
  }
  const clusters = scores.size
  if (clusters < 2) return { kind: 'insufficient' }
  let [slopeSquares, interceptSquares] = [0, 0]
  for (const { plain, weighted } of scores.values()) {
    slopeSquares += (weighted / spread) ** 2
    interceptSquares += (plain / count - (meanX * weighted) / spread) ** 2
  }
  const factor = ((clusters / (clusters - 1)) * (count - 1)) / (count - 2)
  return {
    kind: 'line',
    intercept: meanY - slope * meanX,
    slope,
    interceptError: Math.sqrt(factor * interceptSquares),
    slopeError: Math.sqrt(factor * slopeSquares),
    count,
    clusters,
  }
}
