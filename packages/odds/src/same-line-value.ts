/**
 * Expected profit per unit staked on the same push-able line as the close, a fraction: exposure · (odds · q - 1). A pair
 * of prices of such a line gives, without its margin, q = won / (won + lost); exposure = won + lost is the share of the
 * stake that is not refunded, 1 for a line that cannot push.
 */
export function sameLineValue(bet: {
  /** Decimal odds taken. */
  readonly odds: number
  /** won / (won + lost) at the close, from `removeMargin` of its two prices. */
  readonly winShare: number
  readonly exposure: number
}): number {
  return bet.exposure * (bet.odds * bet.winShare - 1)
}
