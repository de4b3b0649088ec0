/**
 * Price CLV, a fraction: taken / close - 1, both decimal odds above 1 of one selection. Above 0 when the price taken was
 * the better one. Blind to the margin: a bet at the closing price has 0 here and still loses the margin.
 */
export function priceClv(prices: { readonly taken: number; readonly close: number }): number {
  return (prices.taken - prices.close) / prices.close
}
