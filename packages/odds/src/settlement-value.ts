/**
 * Expected profit per unit staked, a fraction: (odds - 1) · won - lost, where `won` and `lost` are the expected shares of
 * the stake and the rest is refunded. Right for pushes, quarter lines and draw-no-bet (won and lost are then the
 * probabilities of the selection and of the opponent), where odds · p - 1 is not.
 */
export function settlementValue(bet: {
  /** Decimal odds taken. */
  readonly odds: number
  readonly won: number
  readonly lost: number
}): number {
  return (bet.odds - 1) * bet.won - bet.lost
}
