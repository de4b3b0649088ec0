/**
 * The two decimal prices of an each-way bet, half of the stake on each: to win at the odds, and to be placed at
 * 1 + (odds - 1) / `placeDivisor` (5 for "one fifth the odds"). They are graded and settled as two picks.
 */
export function eachWayPrices(bet: {
  /** Decimal odds taken. */
  readonly odds: number
  /** At least 1. */
  readonly placeDivisor: number
}): { readonly win: number; readonly place: number } {
  return { win: bet.odds, place: 1 + (bet.odds - 1) / bet.placeDivisor }
}
