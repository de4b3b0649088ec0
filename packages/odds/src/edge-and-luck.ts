import { normalCdf } from './statistics.ts'

/** One settled pick with a grade. */
export type SettledPick = {
  /** Closing-line value on the fair basis, a fraction. */
  readonly clv: number
  /** Decimal odds taken. */
  readonly odds: number
  /** Return per unit of a flat stake. */
  readonly returnUnits: number
}

/** A profit and its parts, in units staked. */
export type EdgeAndLuck = {
  readonly profit: number
  /** What the prices were worth: the sum of the closing-line values. */
  readonly edge: number
  /** The rest. */
  readonly luck: number
  /** Luck in standard deviations: luck / √(Σ odds² p (1 - p)), p = (1 + clv) / odds; 0 if nothing was left to chance. */
  readonly luckDeviations: number
  /** The profit in standard deviations, had every price been fair and without edge: profit / √(Σ (odds - 1)). */
  readonly profitDeviations: number
  /** Probability of at least this profit under that assumption, by the normal distribution. */
  readonly profitPValue: number
}

/** A deviation in units of its standard deviation; 0 if that is 0. */
const inDeviations = (amount: number, variance: number): number =>
  variance > 0 ? amount / Math.sqrt(variance) : 0

/** Splits the flat-stake profit of settled picks into what their prices were worth, and luck. */
export function edgeAndLuck(picks: readonly SettledPick[]): EdgeAndLuck {
  let [profit, edge, luckVariance, fairVariance] = [0, 0, 0, 0]
  for (const { clv, odds, returnUnits } of picks) {
    const probability = Math.min(1, Math.max(0, (1 + clv) / odds))
    profit += returnUnits
    edge += clv
    luckVariance += odds * odds * probability * (1 - probability)
    fairVariance += odds - 1
  }
  const profitDeviations = inDeviations(profit, fairVariance)
  return {
    profit,
    edge,
    luck: profit - edge,
    luckDeviations: inDeviations(profit - edge, luckVariance),
    profitDeviations,
    profitPValue: normalCdf(-profitDeviations),
  }
}
