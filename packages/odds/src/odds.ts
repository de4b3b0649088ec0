/**
 * Prices as written: decimal, fractional and American odds, read exactly. Nothing here throws: anything that is not odds
 * is `refused` with its reason.
 */

/** How a price was written. `decimal`: total return per unit staked; `fractional`: profit / stake; `american`: ±money. */
export type OddsFormat = 'decimal' | 'fractional' | 'american'

/** A price as quoted. */
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
 * Why a price was refused. `type`: neither number nor text; `format`: text in no known form; `not_finite`: NaN or an
 * infinity; `not_above_one`: decimal odds of 1 or less return no profit; `above_limit`: above `DECIMAL_ODDS_MAX`;
 * `american_below_100`: American odds are never between -100 and 100.
 */
export type OddsRefusal =
  | 'type'
  | 'format'
  | 'not_finite'
  | 'not_above_one'
  | 'above_limit'
  | 'american_below_100'

/** The result of parsing a price: the price, or why there is none. */
export type ParsedOdds = Odds | { readonly kind: 'refused'; readonly reason: OddsRefusal }

/** The highest decimal odds accepted: far above any quoted price or priced accumulator, so anything higher is a typo. */
export const DECIMAL_ODDS_MAX = 1_000_000

/** The longest text, in characters, that a parser reads: seven digits, a point and 16 decimals. */
const TEXT_CHARACTERS_MAX = 24

const refused = (reason: OddsRefusal): ParsedOdds => ({ kind: 'refused', reason })

/** The parts of a text in this form; null for any other form, and for a text that is too long to read. */
const partsOf = (form: RegExp, text: string): RegExpExecArray | null =>
  text.length <= TEXT_CHARACTERS_MAX ? form.exec(text) : null

/** The price if its decimal value is above 1 and within the limit, otherwise the refusal. */
function finished(odds: Omit<Odds, 'kind'>): ParsedOdds {
  if (!(odds.decimal > 1)) return refused('not_above_one')
  if (odds.decimal > DECIMAL_ODDS_MAX) return refused('above_limit')
  return { kind: 'odds', format: odds.format, decimal: odds.decimal, text: odds.text }
}

/**
 * Parses a price in any of the three notations. A leading sign means American, a slash or `evens` fractional, anything
 * else decimal, so `110` is decimal and `+110` American. A number means decimal odds.
 */
export function parseOdds(input: unknown): ParsedOdds {
  if (typeof input !== 'string') return parseDecimalOdds(input)
  const first = input.charAt(0)
  if (first === '+' || first === '-' || first === '\u2212') return parseAmerican(input)
  if (first === 'e' || first === 'E' || input.includes('/')) return parseFractional(input)
  return parseDecimalOdds(input)
}

/** Digits, at most 7 before the point and 16 after it; no sign, exponent, comma, space or leading zero. */
const DECIMAL_TEXT = /^(0|[1-9]\d{0,6})(?:\.(\d{1,16}))?$/

/**
 * Parses decimal odds (total return per unit staked), as a number or as text such as `2.10`. A number stands for its
 * shortest decimal text, as in JSON.
 */
export function parseDecimalOdds(input: unknown): ParsedOdds {
  if (typeof input === 'number') {
    if (!Number.isFinite(input)) return refused('not_finite')
    return finished({ format: 'decimal', decimal: input, text: String(input) })
  }
  if (typeof input !== 'string') return refused('type')
  const match = partsOf(DECIMAL_TEXT, input)
  if (match === null) return refused('format')
  const places = (match[2] ?? '').replace(/0+$/, '')
  const text = places === '' ? (match[1] ?? '') : `${match[1]}.${places}`
  return finished({ format: 'decimal', decimal: Number(text), text })
}

/** Profit over stake, each at most 7 digits without leading zeros; the stake is at least 1. */
const FRACTIONAL_TEXT = /^(0|[1-9]\d{0,6})\/([1-9]\d{0,6})$/

/** Profit over stake such as `6/5`, or `evens` in any case for 1/1. The decimal value is one correctly rounded division. */
function parseFractional(text: string): ParsedOdds {
  const match = partsOf(FRACTIONAL_TEXT, text.toLowerCase() === 'evens' ? '1/1' : text)
  if (match === null) return refused('format')
  const profit = Number(match[1])
  const stake = Number(match[2])
  if (profit === 0) return refused('not_above_one')
  let [divisor, rest] = [profit, stake]
  while (rest !== 0) [divisor, rest] = [rest, divisor % rest]
  return finished({
    format: 'fractional',
    decimal: (profit + stake) / stake,
    text: `${profit / divisor}/${stake / divisor}`,
  })
}

/** A sign (the typographic minus too) and at most 9 digits, no leading zero; decimals do not occur. */
const AMERICAN_TEXT = /^([+\-\u2212])([1-9]\d{0,8})$/

/** `+150` wins 150 on a stake of 100, `-110` wins 100 on a stake of 110. The decimal value is one correctly rounded division. */
function parseAmerican(text: string): ParsedOdds {
  const match = partsOf(AMERICAN_TEXT, text)
  if (match === null) return refused('format')
  const money = Number(match[2])
  if (money < 100) return refused('american_below_100')
  const isFavourite = match[1] !== '+' && money > 100
  return finished({
    format: 'american',
    decimal: isFavourite ? (money + 100) / money : (money + 100) / 100,
    text: `${isFavourite ? '-' : '+'}${money}`,
  })
}
