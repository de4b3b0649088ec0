import { type UncertainBet, varianceAt } from './outcome-variance.ts'
import { normalCdf } from './statistics.ts'

/** One settled pick with a grade. */
export type SettledPick = Omit<UncertainBet, 'probability'> & {
  /** Closing-line value on the fair basis, a fraction of the stake that stands. */
  readonly clv: number
  /** Return per unit of a flat stake. */
  readonly returnUnits: number
}

/** A profit and its parts, in units staked. */
export type EdgeAndLuck = {
  readonly profit: number
  /** What the prices were worth: the closing-line values of the stakes that stood. */
  readonly edge: number
  /** The rest. */
  readonly luck: number
  /** Luck in standard deviations (profitVariance with p = (1 + clv) / odds); 0 if nothing was left to chance. */
  readonly luckDeviations: number
  /** The profit in standard deviations, if every price were fair and without edge (p = 1 / odds). */
  readonly profitDeviations: number
  /** Probability of at least this profit under that assumption, by the normal distribution. */
  readonly profitPValue: number
}

/** An amount in standard deviations; 0 without variance. */
const inDeviations = (amount: number, variance: number): number =>
  variance > 0 ? amount / Math.sqrt(variance) : 0

/** A pick's chance to win, by its closing-line value. */
const winChance = ({ clv, odds }: SettledPick): number => Math.min(1, Math.max(0, (1 + clv) / odds))

/**
 * Splits the flat-stake profit of settled picks into what their prices were worth, and luck. Picks of one event are not
 * independent: name their events, markets and selections.
 */
export function edgeAndLuck(picks: readonly SettledPick[]): EdgeAndLuck {
  let [profit, edge] = [0, 0]
  for (const { clv, returnUnits, stood = 1 } of picks) {
    profit += returnUnits
    edge += stood * clv
  }
  const profitDeviations = inDeviations(
    profit,
    varianceAt(picks, ({ odds }) => 1 / odds),
  )
  return {
    profit,
    edge,
    luck: profit - edge,
    luckDeviations: inDeviations(profit - edge, varianceAt(picks, winChance)),
    profitDeviations,
    profitPValue: normalCdf(-profitDeviations),
  }
}
