import { booksum } from './booksum.ts'
import type { MethodResult } from './margin-removal.ts'

/**
 * Multiplicative (basic, proportional) method: p = r / S with r = 1 / price and S the booksum. Spreads the margin in
 * proportion and so overrates longshots. The parameter is S. Prices must be above 1.
 */
export function multiplicativeProbabilities(prices: readonly number[]): MethodResult {
  const sum = booksum(prices)
  return { probabilities: prices.map((price) => 1 / price / sum), parameter: sum }
}
