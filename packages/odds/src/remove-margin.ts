import { additiveProbabilities } from './additive-probabilities.ts'
import {
  BOOKSUM_MAX,
  BOOKSUM_MIN,
  type MarginMethod,
  type MarginRemoval,
  type MethodResult,
  OUTCOMES_MAX,
} from './margin-removal.ts'
import { multiplicativeProbabilities } from './multiplicative-probabilities.ts'
import { DECIMAL_ODDS_MAX } from './odds-limits.ts'
import { oddsRatioProbabilities } from './odds-ratio-probabilities.ts'
import { powerProbabilities } from './power-probabilities.ts'
import { shinProbabilities } from './shin-probabilities.ts'

/** The methods' functions; they trust their prices. */
const METHODS: Readonly<Record<MarginMethod, (prices: readonly number[]) => MethodResult>> = {
  power: powerProbabilities,
  shin: shinProbabilities,
  odds_ratio: oddsRatioProbabilities,
  multiplicative: multiplicativeProbabilities,
  additive: additiveProbabilities,
}

/**
 * Removes the bookmaker's margin from the decimal prices of every outcome of one market: probabilities that sum to one.
 * The default method is `power`, the best or tied on real closing odds; it and `shin`, `odds_ratio` and
 * `multiplicative` give probabilities strictly between 0 and 1, `additive` may be `improper`. A missing or
 * suspended price must not be left out, since the rest would then be scaled up: pass NaN and the book is `refused`.
 * A booksum below 1 (an exchange, best of several books) is fair input; its caller sees it in `booksum`.
 */
export function removeMargin(
  prices: readonly number[],
  method: MarginMethod = 'power',
): MarginRemoval {
  const count = prices.length
  if (count < 2) return { kind: 'refused', reason: 'too_few_outcomes', position: undefined }
  if (count > OUTCOMES_MAX)
    return { kind: 'refused', reason: 'too_many_outcomes', position: undefined }
  let sum = 0
  for (let position = 0; position < count; position++) {
    const price = prices[position] as number
    if (!(price > 1 && price <= DECIMAL_ODDS_MAX))
      return { kind: 'refused', reason: 'price_out_of_range', position }
    sum += 1 / price
  }
  if (sum > BOOKSUM_MAX || sum < BOOKSUM_MIN)
    return { kind: 'refused', reason: 'booksum_out_of_range', position: undefined }
  const { probabilities, parameter } = METHODS[method](prices)
  let isFair = true
  for (let index = 0; index < count; index++) {
    const probability = probabilities[index] as number
    if (!(probability > 0 && probability < 1)) isFair = false
  }
  return { kind: isFair ? 'fair' : 'improper', method, probabilities, parameter, booksum: sum }
}
