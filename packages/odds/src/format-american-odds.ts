/**
 * Decimal odds (above 1) as American text, rounded to a whole number: `+150` from 2.5 up, `-110` below evens; even
 * money is `+100`. Throws a RangeError for odds of 1 or less.
 */
export function formatAmericanOdds(decimal: number): string {
  if (!(decimal > 1 && decimal < Infinity)) throw new RangeError('decimal odds must be above 1')
  const profit = decimal - 1
  if (profit >= 1) return `+${Math.round(profit * 100)}`
  const money = Math.round(100 / profit)
  return money === 100 ? '+100' : `-${money}`
}
