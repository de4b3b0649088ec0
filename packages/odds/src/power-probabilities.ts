import type { MethodResult } from './method-result.ts'

/** The solver takes 2–3 steps on real books and at most about 40 on prices within a rounding error of 1; more is a bug. */
const STEPS_MAX = 200

/** After a relative step below this, the result is final to second order: the remainder is its cube, about the last bit. */
const STEP_FINISHED = 1e-5

/** The largest curvature correction applied; beyond it a plain Newton step is safer. */
const CURVATURE_MAX = 0.1

/**
 * Power method: p = r^k with the k for which the probabilities sum to one (Vovk and Zhdanov 2009; Clarke, Kovalchik and
 * Ingram 2017; Buchdahl's "logarithmic"). The parameter is k. Prices must be above 1; any booksum will do.
 *
 * Newton runs on h(k) = ln Σ r^k, which is convex and decreasing (a log-sum-exp of negative slopes), so it cannot fail
 * from k = 1. It is also nearly a straight line, so Newton needs fewer steps than on the sum itself. If the curvature is
 * small, Halley's correction makes convergence cubic: at most two rounds of exponentials for common books.
 */
export function powerProbabilities(prices: readonly number[]): MethodResult {
  const count = prices.length
  const logs: number[] = []
  const powers: number[] = []
  let sum = 0
  let slope = 0
  let curve = 0
  let lowestLog = 0
  for (let index = 0; index < count; index++) {
    const price = prices[index] as number
    const log = -Math.log(price)
    const power = 1 / price
    logs.push(log)
    powers.push(power)
    sum += power
    slope += power * log
    curve += power * log * log
    if (log < lowestLog) lowestLog = log
  }
  let exponent = 1
  for (let taken = 0; taken < STEPS_MAX; taken++) {
    const height = Math.log(sum)
    const tangent = slope / sum
    const newton = -height / tangent
    const correction = (-newton * (curve / sum - tangent * tangent)) / (2 * tangent)
    const isSmall = correction < CURVATURE_MAX && correction > -CURVATURE_MAX
    const step = isSmall ? newton / (1 - correction) : newton
    exponent += step
    if (-step * lowestLog < STEP_FINISHED && step * lowestLog < STEP_FINISHED) {
      for (let index = 0; index < count; index++) {
        const change = step * (logs[index] as number)
        powers[index] = (powers[index] as number) * (1 + change + (change * change) / 2)
      }
      return { probabilities: powers, parameter: exponent }
    }
    if (height < 2.3e-16 * count && height > -2.3e-16 * count)
      return { probabilities: powers, parameter: exponent }
    sum = 0
    slope = 0
    curve = 0
    for (let index = 0; index < count; index++) {
      const log = logs[index] as number
      const power = Math.exp(exponent * log)
      powers[index] = power
      sum += power
      slope += power * log
      curve += power * log * log
    }
  }
  throw new Error('the power method did not converge: a price is not above 1')
}
