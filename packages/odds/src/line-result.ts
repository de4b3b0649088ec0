/** How a stake on a line ends; quarter lines are two halves, so one half may win or lose while the other is refunded. */
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
