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
 * `american_below_100`: American odds are never between -100 and 100; `unsigned_whole`: `110` may be +110 or 110.0;
 * `comma_of_thousands`: `1,250` may be 1.25 or +1250.
 */
export type OddsRefusal =
  | 'type'
  | 'format'
  | 'not_finite'
  | 'not_above_one'
  | 'above_limit'
  | 'american_below_100'
  | 'unsigned_whole'
  | 'comma_of_thousands'

/** The result of parsing a price: the price, or why there is none. */
export type ParsedOdds = Odds | { readonly kind: 'refused'; readonly reason: OddsRefusal }

/** The highest decimal odds accepted: far above any quoted price or priced accumulator, so anything higher is a typo. */
export const DECIMAL_ODDS_MAX = 1_000_000

/** The longest text, in characters, that a parser reads: seven digits, a point and 16 decimals. */
const TEXT_CHARACTERS_MAX = 24

const refused = (reason: OddsRefusal): ParsedOdds => ({ kind: 'refused', reason })

/** The parts of a text in this form; null for any other form, and for a text that is too long to read. */
const splitOdds = (form: RegExp, text: string): RegExpExecArray | null =>
  text.length <= TEXT_CHARACTERS_MAX ? form.exec(text) : null

/** The price if its decimal value is above 1 and within the limit, otherwise the refusal. */
function finished(odds: Omit<Odds, 'kind'>): ParsedOdds {
  if (!(odds.decimal > 1)) return refused('not_above_one')
  if (odds.decimal > DECIMAL_ODDS_MAX) return refused('above_limit')
  return { kind: 'odds', format: odds.format, decimal: odds.decimal, text: odds.text }
}

/** The longest text that parseOdds reads, spaces included. */
const WRITTEN_CHARACTERS_MAX = 40

/** From here on a whole number without a sign is as likely American as decimal. */
const UNSIGNED_WHOLE_MIN = 100

/** Most texts have only these characters, and need no cleaning. */
const CLEAN = /^[-+\d./]*$/

/** A text without spaces and a leading `@`, every dash a minus, in lower case. */
const cleaned = (text: string): string =>
  CLEAN.test(text)
    ? text
    : text
        .replace(/\s/gu, '')
        .replace(/^@/, '')
        .replace(/[\u2012\u2013\u2212]/gu, '-')
        .toLowerCase()

const EVEN_MONEY: ReadonlySet<string> = new Set(['even', 'evens', 'evenmoney', 'ev', 'evs'])

/** A share of one, as prediction markets quote: 54¢ or 54.5c. */
const CENTS_TEXT = /^([1-9]\d?)(?:[.,](\d))?[¢c]$/

/** A decimal comma, and how many digits follow it. */
const COMMA_TEXT = /^(\d{1,7}),(\d{1,16})$/

/**
 * Parses a price as people type it, spaces, a leading `@` and any kind of dash allowed. A leading sign means American
 * (`+110`, `-110`, `+1,200`); a slash or an inner dash (`11/10`, `11-10`), `EVEN` or cents (`54¢`) fractional; anything
 * else decimal, with a point or a comma (`2,10`). Two forms are refused as ambiguous: a whole number from 100
 * without a sign (`110`, which `110.0` and `+110` say clearly), and three digits after a comma (`1,250`). A number is
 * decimal odds, or American from -100 down.
 */
export function parseOdds(input: unknown): ParsedOdds {
  if (typeof input === 'number') return parseNumber(input)
  if (typeof input !== 'string') return refused('type')
  if (input.length > WRITTEN_CHARACTERS_MAX) return refused('format')
  const text = cleaned(input)
  const first = text.charAt(0)
  if (first === '+' || first === '-') return parseAmerican(text)
  if (EVEN_MONEY.has(text)) return parseFractional('1/1')
  if (text.includes('/') || text.includes('-')) return parseFractional(text.replace('-', '/'))
  const cents = CENTS_TEXT.exec(text)
  if (cents !== null) {
    const tenths = Number(cents[1]) * 10 + Number(cents[2] ?? 0)
    return parseFractional(`${1_000 - tenths}/${tenths}`)
  }
  const comma = COMMA_TEXT.exec(text)
  if (comma?.[2]?.length === 3) return refused('comma_of_thousands')
  if (/^[1-9]\d{2,}$/.test(text)) return refused('unsigned_whole')
  return unmistakable(parseDecimalOdds(comma === null ? text : `${comma[1]}.${comma[2]}`))
}

function parseNumber(input: number): ParsedOdds {
  if (!Number.isInteger(input)) return parseDecimalOdds(input)
  if (input >= UNSIGNED_WHOLE_MIN) return refused('unsigned_whole')
  return input < 0 ? parseAmerican(String(input)) : parseDecimalOdds(input)
}

/** Decimal odds whose text parseOdds reads back: 110 is written `110.0`. */
function unmistakable(odds: ParsedOdds): ParsedOdds {
  const isWhole = odds.kind === 'odds' && odds.decimal >= UNSIGNED_WHOLE_MIN
  return isWhole && /^\d+$/.test(odds.text) ? { ...odds, text: `${odds.text}.0` } : odds
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
  const match = splitOdds(DECIMAL_TEXT, input)
  if (match === null) return refused('format')
  const places = (match[2] ?? '').replace(/0+$/, '')
  const text = places === '' ? (match[1] ?? '') : `${match[1]}.${places}`
  return finished({ format: 'decimal', decimal: Number(text), text })
}

/** Profit over stake, each at most 7 digits without leading zeros; the stake is at least 1. */
const FRACTIONAL_TEXT = /^(0|[1-9]\d{0,6})\/([1-9]\d{0,6})$/

/** Profit over stake such as `6/5`. The decimal value is one correctly rounded division. */
function parseFractional(text: string): ParsedOdds {
  const match = splitOdds(FRACTIONAL_TEXT, text)
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

/** A sign and at most 9 digits, no leading zero, thousands with commas or not; `.0` is what spreadsheets add. */
const AMERICAN_TEXT = /^([+-])([1-9]\d{0,2}(?:,\d{3}){1,2}|[1-9]\d{0,8})(?:\.0+)?$/

/** `+150` wins 150 on a stake of 100, `-110` wins 100 on a stake of 110. The decimal value is one correctly rounded division. */
function parseAmerican(text: string): ParsedOdds {
  const match = splitOdds(AMERICAN_TEXT, text)
  if (match === null) return refused('format')
  const money = Number(match[2]?.replaceAll(',', ''))
  if (money < 100) return refused('american_below_100')
  const isFavourite = match[1] !== '+' && money > 100
  return finished({
    format: 'american',
    decimal: isFavourite ? (money + 100) / money : (money + 100) / 100,
    text: `${isFavourite ? '-' : '+'}${money}`,
  })
}
