import type { MethodResult } from './method-result.ts'

/** The solver takes 3–6 steps on real books and about 30 on prices within a rounding error of 1; more is a bug. */
const STEPS_MAX = 200

/** A relative step below this is the last: Newton squares it. */
const STEP_FINISHED = 1e-8

/**
 * Odds-ratio method (Cheung 2015; a shift of the logit): p / (1 - p) = (r / (1 - r)) / c, so p = 1 / (1 + c (price - 1))
 * with the c for which the probabilities sum to one. The parameter is c. Prices must be above 1; any booksum will do.
 *
 * The sum is convex and decreasing in c, from n at 0 towards 0. If the booksum is above 1, Newton from c = 1 rises to the
 * root; below 1, its first step falls short of the root, and is halved back above zero if it leaves the domain.
 */
export function oddsRatioProbabilities(prices: readonly number[]): MethodResult {
  const count = prices.length
  const probabilities: number[] = []
  for (let index = 0; index < count; index++) probabilities.push(0)
  let ratio = 1
  for (let taken = 0; taken < STEPS_MAX; taken++) {
    let excess = -1
    let slope = 0
    for (let index = 0; index < count; index++) {
      const profit = (prices[index] as number) - 1
      const probability = 1 / (1 + ratio * profit)
      probabilities[index] = probability
      excess += probability
      slope -= profit * probability * probability
    }
    const step = -excess / slope
    const isAtRest = excess < 2.3e-16 * count && excess > -2.3e-16 * count
    if (isAtRest || (step < STEP_FINISHED * ratio && -step < STEP_FINISHED * ratio)) {
      for (let index = 0; index < count; index++) {
        const probability = probabilities[index] as number
        probabilities[index] =
          probability - step * ((prices[index] as number) - 1) * probability * probability
      }
      return { probabilities, parameter: ratio + step }
    }
    ratio = ratio + step > 0 ? ratio + step : ratio / 2
  }
  throw new Error('the odds-ratio method did not converge: a price is not above 1')
}
