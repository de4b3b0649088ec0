import { booksum } from './booksum.ts'
import type { MethodResult } from './margin-removal.ts'

/**
 * Additive method, also known as margin weights proportional to the odds (Buchdahl): p = r - (S - 1) / n. Equals Shin's
 * for two outcomes; can fall to zero or below for longshots. The parameter is (S - 1) / n. Prices must be above 1.
 */
export function additiveProbabilities(prices: readonly number[]): MethodResult {
  const share = (booksum(prices) - 1) / prices.length
  return { probabilities: prices.map((price) => 1 / price - share), parameter: share }
}
