/** Probabilities that sum to one, with the number that the method solved for. */
export type MethodResult = {
  /** One probability per price, in the order of the prices. */
  readonly probabilities: readonly number[]
  /**
   * power: exponent k; shin: share z of insiders; odds_ratio: c; multiplicative: booksum; additive: the amount taken off
   * each.
   */
  readonly parameter: number
}
