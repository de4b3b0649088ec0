/**
 * Removes the bookmaker's margin from a book of prices. The two one-line methods are here; the ones that solve for a
 * number have their own files.
 */
import type { MethodResult } from './method-result.ts'
import { DECIMAL_ODDS_MAX } from './odds.ts'
import { oddsRatioProbabilities } from './odds-ratio-probabilities.ts'
import { powerProbabilities } from './power-probabilities.ts'
import { shinProbabilities } from './shin-probabilities.ts'

/** A way to turn a book of prices into probabilities; see each method's function for formula and source. */
export type MarginMethod = 'power' | 'shin' | 'odds_ratio' | 'multiplicative' | 'additive'

/**
 * Why a book was refused. `too_few_outcomes`: fewer than two, since one selection's price says nothing about its margin;
 * `too_many_outcomes`: more than `OUTCOMES_MAX`; `price_out_of_range`: a price is missing, suspended, not above 1 or
 * above `DECIMAL_ODDS_MAX`; `booksum_out_of_range`: the prices cannot belong to one market at one time.
 */
export type MarginRefusal =
  | 'too_few_outcomes'
  | 'too_many_outcomes'
  | 'price_out_of_range'
  | 'booksum_out_of_range'

/** The result of removing a margin. */
export type MarginRemoval =
  /** Every probability lies strictly between 0 and 1. */
  | (MethodResult & {
      readonly kind: 'fair'
      readonly method: MarginMethod
      /** Sum of the inverse prices: 1 plus the margin. */
      readonly booksum: number
    })
  /** The method's formula gives at least one probability outside (0, 1), so it has no fair price. */
  | (MethodResult & {
      readonly kind: 'improper'
      readonly method: MarginMethod
      readonly booksum: number
    })
  /** `position` is that of the first price out of range, counted from 0; undefined if the book as a whole is at fault. */
  | {
      readonly kind: 'refused'
      readonly reason: MarginRefusal
      readonly position: number | undefined
    }

/** The most outcomes in one book: golf and outright fields stay below 300. Bounds the time of one call. */
export const OUTCOMES_MAX = 1000

/** Above this booksum, prices are treated as broken data; real soft books with 20 runners stay below 1.4. */
export const BOOKSUM_MAX = 1.5

/** Below this booksum, prices are treated as broken data; best-of-books and exchange sums stay above 0.9. */
export const BOOKSUM_MIN = 0.5

/** The sum of the inverse decimal prices of one market: 1 plus the bookmaker's margin, below 1 for an arbitrage. */
export function booksum(prices: readonly number[]): number {
  let sum = 0
  for (const price of prices) sum += 1 / price
  return sum
}

/**
 * Multiplicative (basic, proportional) method: p = r / S with r = 1 / price and S the booksum. Spreads the margin in
 * proportion and therefore overrates longshots. The parameter is S. Prices must be above 1.
 */
export function multiplicativeProbabilities(prices: readonly number[]): MethodResult {
  const sum = booksum(prices)
  return { probabilities: prices.map((price) => 1 / price / sum), parameter: sum }
}

/**
 * Additive method, also known as margin weights proportional to the odds (Buchdahl): p = r - (S - 1) / n. Equals Shin's
 * for two outcomes; can fall to zero or below for longshots. The parameter is (S - 1) / n. Prices must be above 1.
 */
export function additiveProbabilities(prices: readonly number[]): MethodResult {
  const share = (booksum(prices) - 1) / prices.length
  return { probabilities: prices.map((price) => 1 / price - share), parameter: share }
}

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
 * The default method is `power`, the best or tied on real closing odds; it and `shin`, `odds_ratio` and `multiplicative`
 * give probabilities strictly between 0 and 1, `additive` may be `improper`. Do not leave out a missing or suspended
 * price, since the rest would then be scaled up: pass NaN, and the book is `refused`. A booksum below 1 (an exchange,
 * best of several books) is valid input; the caller sees it in `booksum`.
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
