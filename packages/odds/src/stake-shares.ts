import type { MarginMasses, StakeShares } from './line-result.ts'
import { settleLine } from './settle-line.ts'

/**
 * The expected shares of a stake on a line, given the probabilities of every margin of the selection. `line` as in
 * `settleLine`. Works with any distribution: Poisson margins of football, or an empirical table of NFL margins with its
 * peaks at 3 and 7. Throws a RangeError for a line that is no multiple of 0.25.
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
