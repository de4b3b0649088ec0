/**
 * How a bet ends and what it returns: lines with halves and refunds, dead heats, deductions. Nothing here knows a
 * closing price.
 */

/** How a stake on a line ends. A quarter line is two halves, so one half may win or lose while the other is refunded. */
export type LineResult = 'won' | 'half_won' | 'push' | 'half_lost' | 'lost'

/** Expected shares of one unit staked: won, lost and refunded; they sum to one. */
export type StakeShares = {
  readonly won: number
  readonly lost: number
  readonly refunded: number
}

/** Probabilities of a whole-number margin or total: `masses[index]` belongs to `lowest + index`. */
export type MarginMasses = {
  readonly lowest: number
  readonly masses: readonly number[]
}

/**
 * How a bet on a line ends. `margin` is the whole number by which the selection was ahead (its goals minus the other
 * side's), `line` the handicap given to it, a multiple of 0.25; a quarter line is half a stake on each neighbour. For
 * over T pass the total and -T, for under T the negative total and T, for draw-no-bet line 0. Throws a RangeError for a
 * margin that is not whole or a line that is not a multiple of 0.25.
 */
export function settleLine(bet: { readonly margin: number; readonly line: number }): LineResult {
  if (!Number.isInteger(bet.margin)) throw new RangeError('a margin is a whole number')
  if (!Number.isInteger(bet.line * 4)) throw new RangeError('a line is a multiple of 0.25')
  const ahead = bet.margin + bet.line
  if (ahead >= 0.5) return 'won'
  if (ahead === 0.25) return 'half_won'
  if (ahead === 0) return 'push'
  return ahead === -0.25 ? 'half_lost' : 'lost'
}

/**
 * The expected shares of a stake on a line, given the probabilities of every margin of the selection. `line` as in
 * `settleLine`. Works with any distribution: Poisson margins of football, or an empirical table of NFL margins with its
 * peaks at 3 and 7. Throws a RangeError for a line that is not a multiple of 0.25.
 */
export function stakeShares(bet: {
  readonly margins: MarginMasses
  readonly line: number
}): StakeShares {
  let won = 0
  let lost = 0
  let refunded = 0
  let margin = bet.margins.lowest
  for (const mass of bet.margins.masses) {
    const result = settleLine({ margin, line: bet.line })
    const part = result === 'half_won' || result === 'half_lost' ? mass / 2 : mass
    if (result === 'won' || result === 'half_won') won += part
    if (result === 'lost' || result === 'half_lost') lost += part
    if (result !== 'won' && result !== 'lost') refunded += part
    margin += 1
  }
  return { won, lost, refunded }
}

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
  /** What counts as staked in a return on investment: 0 for a void bet, otherwise 1. */
  readonly stakeUnits: 0 | 1
}

/** The returns that do not depend on the odds. */
const FIXED_RETURNS = { push: 0, half_lost: -0.5, lost: -1 } as const

/** The profit per unit at the odds, after a deduction. */
const computeProfit = (bet: { readonly odds: number; readonly deduction?: number }): number => {
  const deduction = bet.deduction ?? 0
  if (!(deduction >= 0 && deduction <= 1)) throw new RangeError('a deduction is between 0 and 1')
  return (bet.odds - 1) * (1 - deduction)
}

/**
 * What one unit on a settled bet returned: won odds - 1, half won half of that, a push 0, half lost -1/2, lost -1. A dead
 * heat pays places / tied of the stake in full; a void bet returns 0 and counts as no stake. Throws a RangeError for a
 * deduction outside 0–1, or a dead heat without more tied selections than places.
 */
export function settledReturn(bet: SettledBet): SettledReturn {
  if (bet.result === 'void') return { returnUnits: 0, stakeUnits: 0 }
  return { returnUnits: computeReturn(bet), stakeUnits: 1 }
}

/** What a bet that stood returned per unit. */
const computeReturn = (bet: Exclude<SettledBet, { result: 'void' }>): number => {
  if (bet.result === 'won') return computeProfit(bet)
  if (bet.result === 'half_won') return computeProfit(bet) / 2
  if (bet.result === 'dead_heat') {
    if (!(bet.places >= 1 && bet.tied > bet.places))
      throw new RangeError('a dead heat has more tied selections than places')
    return (bet.places / bet.tied) * (1 + computeProfit(bet)) - 1
  }
  return FIXED_RETURNS[bet.result]
}
