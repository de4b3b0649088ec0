/** A price taken, decimal odds above 1, and what the closing market said of its selection. */
export type TakenAtFairClose = {
  /** Decimal odds taken. */
  readonly taken: number
  /** Probability of the selection at the close with the margin removed, above 0 and below 1. */
  readonly fairProbability: number
}
