import { chiSquareTail } from './statistics.ts'

/** Whether several estimates are all zero, tested at once. */
export type JointTest =
  | {
      readonly kind: 'tested'
      /** d' V⁻¹ d; chi-square distributed if all are zero. */
      readonly chiSquare: number
      /** Estimates that are no combination of others. */
      readonly degrees: number
      /** Probability of at least this, were all of them zero. */
      readonly probability: number
    }
  /** No estimate varies. */
  | { readonly kind: 'insufficient' }

/** Below this share of its variance an estimate is a combination of the ones before it. */
const REMAINDER_MIN = 1e-10

/**
 * Wald's test (1943) that all estimates are zero, given their covariance matrix, row by row: one number for six gaps, which
 * six single tests are not. An estimate that others determine, or that does not vary, counts for nothing. The matrix must
 * be symmetric and not negative; throws a RangeError unless it is as large as the estimates.
 */
export function jointTest(test: {
  readonly estimates: readonly number[]
  readonly covariance: readonly (readonly number[])[]
}): JointTest {
  const { covariance, estimates } = test
  if (covariance.some((row) => row.length !== estimates.length))
    throw new RangeError('a covariance for each pair of estimates')
  // Cholesky's rows, each estimate cleared of what those before it say.
  const rows: { readonly factors: readonly number[]; readonly cleared: number }[] = []
  const kept: number[] = []
  for (const [index, estimate] of estimates.entries()) {
    const factors: number[] = []
    let [cleared, remainder] = [estimate, covariance[index]?.[index] ?? 0]
    const least = remainder * REMAINDER_MIN
    for (const [place, row] of rows.entries()) {
      let shared = covariance[index]?.[kept[place] ?? 0] ?? 0
      for (const [before, factor] of factors.entries())
        shared -= factor * (row.factors[before] ?? 0)
      const factor = shared / (row.factors[place] ?? 1)
      factors.push(factor)
      cleared -= factor * row.cleared
      remainder -= factor * factor
    }
    if (!(remainder > least)) continue
    const root = Math.sqrt(remainder)
    rows.push({ factors: [...factors, root], cleared: cleared / root })
    kept.push(index)
  }
  if (rows.length === 0) return { kind: 'insufficient' }
  const chiSquare = rows.reduce((sum, { cleared }) => sum + cleared * cleared, 0)
  const probability = chiSquareTail(chiSquare, rows.length)
  return { kind: 'tested', chiSquare, degrees: rows.length, probability }
}
