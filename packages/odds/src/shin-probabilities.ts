import type { MethodResult } from './method-result.ts'

/** The solver takes 4–7 steps on real books; the bound is far above what prices near 1 need, so more is a bug. */
const STEPS_MAX = 200

/** A step below this is the last: Newton squares it. */
const STEP_FINISHED = 1e-9

/**
 * Shin's method (Shin 1992, 1993; Jullien and Salanié 1994): p = (√(z² + 4(1 - z) r² / S) - z) / (2(1 - z)) with the
 * share z of insiders for which the probabilities sum to one; z is negative for a booksum below 1. The parameter is z.
 * Two outcomes have a closed form, in which Shin's probabilities are the additive ones. Prices must be above 1.
 */
export function shinProbabilities(prices: readonly number[]): MethodResult {
  const [first, second] = prices
  if (prices.length === 2 && first !== undefined && second !== undefined)
    return ofTwo([1 / first, 1 / second])
  return ofMany(prices)
}

/** The closed form for two inverse prices. */
const ofTwo = ([first, other]: readonly [number, number]): MethodResult => {
  const sum = first + other
  const squaredGap = (first - other) * (first - other)
  return {
    probabilities: [(1 + first - other) / 2, (1 + other - first) / 2],
    parameter: ((sum - 1) * (squaredGap - sum)) / (sum * (squaredGap - 1)),
  }
}

/**
 * Newton on g(z) = Σ √(z² + 4(1 - z) a) - 2 - (n - 2) z with a = r² / S. Every a is below 1, so g is convex. It falls at
 * 0 and is zero at 1 and at the wanted, smaller z: Newton from 0 rises to that root or, at a booksum below 1, steps
 * past it once and then rises.
 */
const ofMany = (prices: readonly number[]): MethodResult => {
  const count = prices.length
  const weights: number[] = []
  let sum = 0
  for (let index = 0; index < count; index++) {
    const inverse = 1 / (prices[index] as number)
    weights.push(inverse * inverse)
    sum += inverse
  }
  for (let index = 0; index < count; index++) weights[index] = (weights[index] as number) / sum
  let share = 0
  for (let taken = 0; taken < STEPS_MAX; taken++) {
    let excess = -2 - (count - 2) * share
    let slope = 2 - count
    for (let index = 0; index < count; index++) {
      const weight = weights[index] as number
      const root = Math.sqrt(share * share + 4 * (1 - share) * weight)
      excess += root
      slope += (share - 2 * weight) / root
    }
    const step = -excess / slope
    share += step
    const isAtRest = excess < 4e-16 * count && excess > -4e-16 * count
    if (isAtRest || (step < STEP_FINISHED && -step < STEP_FINISHED))
      return { probabilities: probabilitiesAt(share, weights), parameter: share }
  }
  throw new Error('Shin’s method did not converge: a price is not above 1')
}

/** Shin's formula at a solved z, in the form without cancellation for small weights and z ≥ 0. */
const probabilitiesAt = (share: number, weights: readonly number[]): readonly number[] => {
  const probabilities: number[] = []
  let sum = 0
  for (let index = 0; index < weights.length; index++) {
    const weight = weights[index] as number
    const root = Math.sqrt(share * share + 4 * (1 - share) * weight)
    const probability =
      share >= 0 ? (2 * weight) / (root + share) : (root - share) / (2 * (1 - share))
    probabilities.push(probability)
    sum += probability
  }
  // The solver's remaining rounding error, a few units in the last place, is shared out.
  for (let index = 0; index < probabilities.length; index++)
    probabilities[index] = (probabilities[index] as number) / sum
  return probabilities
}
