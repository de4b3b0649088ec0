import type { LineResult } from './line-result.ts'

/**
 * How a bet on a line ends. `margin` is the whole number by which the selection was ahead (its goals minus the other
 * side's), `line` the handicap given to it, a multiple of 0.25; a quarter line is half a stake on each neighbour. For
 * over T pass the total and -T, for under T the negative total and T, for draw-no-bet line 0. Throws a RangeError for a
 * margin that is not whole or a line that is no multiple of 0.25.
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
