/** The highest decimal odds accepted: far above any quoted price or priced accumulator, so that what is above is a slip. */
export const DECIMAL_ODDS_MAX = 1_000_000

/** The longest text, in characters, that a parser reads: seven digits, a point and 16 decimals. */
export const ODDS_TEXT_CHARACTERS_MAX = 24
