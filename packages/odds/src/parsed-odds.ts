/** How a price was written. `decimal`: total return per unit staked; `fractional`: profit / stake; `american`: ±money. */
export type OddsFormat = 'decimal' | 'fractional' | 'american'

/** A price as it was quoted. */
export type Odds = {
  readonly kind: 'odds'
  /** How it was written. */
  readonly format: OddsFormat
  /** Decimal odds, above 1: the double nearest to the exact value. */
  readonly decimal: number
  /**
   * The exact value in its own format, one text per value: decimal without trailing zeros (`2.1`), fractional in lowest
   * terms (`6/5`), American with its sign (`+150`, even money always `+100`).
   */
  readonly text: string
}

/**
 * Why a price was refused. `type`: neither number nor text; `format`: text of no known form; `not_finite`: NaN or an
 * infinity; `not_above_one`: decimal odds of 1 or less return no profit; `above_limit`: above `DECIMAL_ODDS_MAX`;
 * `american_below_100`: American odds lie at or beyond ±100.
 */
export type OddsRefusal =
  | 'type'
  | 'format'
  | 'not_finite'
  | 'not_above_one'
  | 'above_limit'
  | 'american_below_100'

/** What parsing a price gives: the price, or why there is none. */
export type ParsedOdds = Odds | { readonly kind: 'refused'; readonly reason: OddsRefusal }
