/** A settled bet; `odds` are decimal. */
export type SettledBet =
  /** `deduction`: a Rule 4 deduction from the profit after a withdrawal, 0 (default) to 1. */
  | {
      readonly result: 'won' | 'half_won'
      readonly odds: number
      readonly deduction?: number
    }
  | { readonly result: 'push' | 'half_lost' | 'lost'; readonly odds: number }
  | { readonly result: 'void'; readonly odds: number }
  /** `tied` selections share `places` paid places (1 in a win market), tied > places. */
  | {
      readonly result: 'dead_heat'
      readonly odds: number
      readonly places: number
      readonly tied: number
      readonly deduction?: number
    }

/** What a settled bet of one unit returned. */
export type SettledReturn = {
  /** Profit or loss in units staked, at least -1. */
  readonly returnUnits: number
  /** What counts as staked in a return on investment: 0 for a void bet, 1 for every other. */
  readonly stakeUnits: 0 | 1
}

/** The returns that do not depend on the odds. */
const FIXED_RETURNS = { push: 0, half_lost: -0.5, lost: -1 } as const

/** The profit per unit at the odds, after a deduction. */
const profitOf = (bet: { readonly odds: number; readonly deduction?: number }): number => {
  const deduction = bet.deduction ?? 0
  if (!(deduction >= 0 && deduction <= 1)) throw new RangeError('a deduction is between 0 and 1')
  return (bet.odds - 1) * (1 - deduction)
}

/**
 * What one unit on a settled bet returned: won odds - 1, half won half of it, a push 0, half lost -1/2, lost -1; a dead
 * heat pays the share places / tied of the stake in full; a void bet returns 0 and counts as no stake. Throws a
 * RangeError for a deduction outside 0–1 or a dead heat that is none.
 */
export function settledReturn(bet: SettledBet): SettledReturn {
  if (bet.result === 'void') return { returnUnits: 0, stakeUnits: 0 }
  return { returnUnits: returnOf(bet), stakeUnits: 1 }
}

/** What a bet that stood returned per unit. */
const returnOf = (bet: Exclude<SettledBet, { result: 'void' }>): number => {
  if (bet.result === 'won') return profitOf(bet)
  if (bet.result === 'half_won') return profitOf(bet) / 2
  if (bet.result === 'dead_heat') {
    if (!(bet.places >= 1 && bet.tied > bet.places))
      throw new RangeError('a dead heat has more tied selections than places')
    return (bet.places / bet.tied) * (1 + profitOf(bet)) - 1
  }
  return FIXED_RETURNS[bet.result]
}
