/** The sum of the inverse decimal prices of one market: 1 plus the bookmaker's margin, below 1 for an arbitrage. */
export function booksum(prices: readonly number[]): number {
  let sum = 0
  for (const price of prices) sum += 1 / price
  return sum
}
