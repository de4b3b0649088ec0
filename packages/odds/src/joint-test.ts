import { chiSquareTail } from './statistics.ts'

/** A joint test of whether several estimates are all zero. */
export type JointTest =
  | {
      readonly kind: 'tested'
      /** d' V⁻¹ d; chi-square distributed if all are zero. */
      readonly chiSquare: number
      /** Estimates that are not combinations of others. */
      readonly degrees: number
      /** Probability of at least this if all of them are zero. */
      readonly probability: number
    }
  /** No estimate varies. */
  | { readonly kind: 'insufficient' }

/** Below this share of its variance an estimate is a combination of the ones before it. */
const REMAINDER_MIN = 1e-10

/**
 * Wald's test (1943) that all estimates are zero, given the rows of their covariance matrix: six gaps need one test, not
 * six. An estimate that does not vary, or that others determine, is ignored. The matrix must be symmetric and positive
 * semidefinite; throws a RangeError unless each of its rows has one entry per estimate.
 */
export function jointTest(test: {
  readonly estimates: readonly number[]
  readonly covariance: readonly (readonly number[])[]
}): JointTest {
  const { covariance, estimates } = test
  if (covariance.some((row) => row.length !== estimates.length))
    throw new RangeError('each pair of estimates needs a covariance')
  // Cholesky's rows: each estimate less what the earlier ones explain.
  const rows: { readonly factors: readonly number[]; readonly cleared: number }[] = []
  const kinds: number[] = []
  for (const [index, estimate] of estimates.entries()) {
    const factors: number[] = []
    let [cleared, remainder] = [estimate, covariance[index]?.[index] ?? 0]
    const least = remainder * REMAINDER_MIN
    for (const [place, row] of rows.entries()) {
      let shared = covariance[index]?.[kinds[place] ?? 0] ?? 0
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
    kinds.push(index)
  }
  if (rows.length === 0) return { kind: 'insufficient' }
  const chiSquare = rows.reduce((sum, { cleared }) => sum + cleared * cleared, 0)
  const probability = chiSquareTail(chiSquare, rows.length)
  return { kind: 'tested', chiSquare, degrees: rows.length, probability }
}
