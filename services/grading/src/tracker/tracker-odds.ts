/**
 * A price as its file means it: the notation that a column or the header names, the shares of a dollar that exchanges of
 * shares quote, and a question wherever a text means two prices. The words are in odds-notations.json.
 */
import { plainText } from '../domain/markets/team-names.ts'
import type { OddsNotation } from '../wire/requests.ts'
import notations from './odds-notations.json' with { type: 'json' }

/** What a price in each notation is called: with an example, since the answer is for the whole file. */
export const NOTATION_LABELS: Readonly<Record<OddsNotation, string>> = notations.labels

const listed = (words: string) => words.split(' ') as readonly OddsNotation[]

/** Words of a header or of a column of notations, each a whole word. */
const NOTATION_WORDS = Object.entries(notations.words).flatMap(([notation, words]) =>
  words.split(' ').map((word) => [word, notation as OddsNotation] as const),
)
/** Short words that a header has for other reasons: `My odds`. */
const NOT_IN_HEADERS = new Set(notations.notInHeaders.split(' '))
/** Exchanges that sell shares of one dollar; others, such as Novig and Betfair, quote odds. */
const SHARE_EXCHANGES = new RegExp(notations.shareExchanges, 'i')
/** What a contradiction leaves: 1.91 is no American price. */
const LIKELY = listed(notations.likely)
/** Notations of a whole file: in the others only prices that are not clear are in question. */
const OF_WHOLE_FILE = new Set(listed(notations.ofWholeFile))
/** A sign and three digits are American, whatever else is said; `.0` is what spreadsheets add. */
const AMERICAN = /^[+-]\d{3,}(?:\.0+)?$/

export const isShareExchange = (book: string): boolean => SHARE_EXCHANGES.test(book)

/** The notation that a header such as `odds_american` names. */
export const notationOfHeader = (header: string): OddsNotation | undefined =>
  notationNamed(header, NOT_IN_HEADERS)

/** The notation that a cell such as `HK` names. */
function notationNamed(text: string, except = new Set<string>()): OddsNotation | undefined {
  const words = plainText(text)
    .replace(/hong[\s_-]?kong/g, 'hk')
    .replace(
      /(american|decimal|fractional)(?=odds)|(?<=odds)(american|decimal|fractional)/g,
      ' $& ',
    )
    .replace(/¢/g, ' cents ')
    .split(/[^\p{L}]+/u)
  return NOTATION_WORDS.find(([word]) => words.includes(word) && !except.has(word))?.[1]
}

export type OddsReading =
  | { readonly kind: 'odds'; readonly odds: string }
  /** Readings by their notation; all rows of a file may share the answer. */
  | {
      readonly kind: 'unclear'
      readonly readings: readonly { readonly notation: OddsNotation; readonly odds: string }[]
    }

/** Digits behind the point of a converted price: more than any book quotes. */
const DECIMALS = 8
const rounded = (value: number): number => Number(value.toFixed(DECIMALS))
const profit = (value: number) => (value > 0 ? String(rounded(value + 1)) : undefined)
/** A stake below zero wins one, exactly: `100/85` for -0.85. */
function profitOrStake(value: number): string | undefined {
  const scale = 10 ** (String(value).split('.')[1]?.length ?? 0)
  return profit(value) ?? `${scale}/${Math.round(-value * scale)}`
}

/** The price of a number in each notation, in one that needs no header; undefined if the notation has no such number. */
const PRICES: Readonly<Record<OddsNotation, (value: number, text: string) => string | undefined>> =
  {
    american: (value) =>
      Math.abs(value) >= 100 && Number.isInteger(value)
        ? `${value < 0 ? '-' : '+'}${Math.abs(value)}`
        : undefined,
    decimal: (value, text) => {
      if (value <= 1 || text.startsWith('+')) return undefined
      return Number.isInteger(value) ? `${value}.0` : text
    },
    fractional: profit,
    hong_kong: profit,
    indonesian: (value) => (Math.abs(value) >= 1 ? profitOrStake(value) : undefined),
    malay: (value) => (value !== 0 && Math.abs(value) <= 1 ? profitOrStake(value) : undefined),
    share: (value) => {
      const share = value < 1 ? value : value / 100
      if (value <= 0 || share >= 1) return undefined
      const cents = String(rounded(share * 100))
      return /^[1-9]\d?(?:\.\d)?$/.test(cents) ? `${cents}¢` : String(rounded(1 / share))
    },
  }

const priceIn = (notation: OddsNotation, text: string): string | undefined =>
  PRICES[notation](Number(text), text)

/** The different prices that a number is in these notations. */
function readingsIn(text: string, among: readonly OddsNotation[]) {
  const byOdds = new Map<string, OddsNotation>()
  for (const notation of among) {
    const odds = priceIn(notation, text)
    if (odds !== undefined && !byOdds.has(odds)) byOdds.set(odds, notation)
  }
  return [...byOdds].map(([odds, notation]) => ({ notation, odds }))
}

/** Notations that a number may be in, if nothing names one; empty if it can be in only the usual ones. */
function unclearNotations(text: string): readonly OddsNotation[] {
  const value = Number(text)
  if (/^\d{3,}$/.test(text)) return ['american', 'decimal']
  // 0.54 may be a share of a dollar or a profit, -0.85 a stake that wins one.
  if (value > 0 && value < 1) return ['share', 'hong_kong', 'malay']
  if (value < 0 && value > -1) return ['malay']
  return value <= -1 && value > -100 ? ['indonesian'] : []
}

/** A number, its decimal comma a point; undefined for `11/10`, `EVEN`, `54¢` and `1,250`, which parseOdds reads or refuses. */
function numberText(text: string, isAmerican: boolean, isCommaDecimal: boolean) {
  const plain = text.replace(/^[@$€£]\s*|\s/g, '').replace(/[‒–−]/g, '-')
  // +1,200: a sign is American, and its commas separate thousands.
  const isGrouped = !isCommaDecimal && /^[+-]?\d{1,3}(?:,\d{3})+(?:\.0+)?$/.test(plain)
  if (isGrouped && (isAmerican || /^[+-]/.test(plain))) return plain.replaceAll(',', '')
  const point = isGrouped ? plain : plain.replace(',', '.')
  return /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/.test(point) ? point : undefined
}

/** How a price is read. */
export type OddsContext = {
  /** What the header says. */
  readonly header: OddsNotation | undefined
  /** What a column of notations says of this price; it may be a word that nobody knows. */
  readonly named: string
  /** What the reader says of prices that are not clear. */
  readonly choice: OddsNotation | undefined
  /** Whether the bet was made at an exchange of shares. */
  readonly isShares: boolean
  /** Whether the file's prices have decimals above 1: a whole number at such an exchange may then be one of them. */
  readonly hasDecimals: boolean
  readonly isCommaDecimal: boolean
}

const read = (odds: string): OddsReading => ({ kind: 'odds', odds })

export function readOdds(text: string, context: OddsContext): OddsReading {
  const { choice, hasDecimals, header, isCommaDecimal, isShares, named: cell } = context
  const named = notationNamed(cell)
  const notation = named ?? header
  const number = numberText(text, notation === 'american', isCommaDecimal)
  if (number === undefined) return read(text)
  const unclear = (among: readonly OddsNotation[]): OddsReading => {
    const chosen = choice !== undefined && among.includes(choice) && priceIn(choice, number)
    return chosen ? read(chosen) : { kind: 'unclear', readings: readingsIn(number, among) }
  }
  if (AMERICAN.test(number)) return read(number.replace(/\.0+$/, ''))
  if (cell !== '' && named === undefined) return unclear(LIKELY)
  const inForce = notation ?? (choice && OF_WHOLE_FILE.has(choice) ? choice : undefined)
  if (inForce !== undefined) {
    const odds = priceIn(inForce, number)
    return odds === undefined ? unclear(LIKELY) : read(odds)
  }
  const value = Number(number)
  if (isShares && value > 0 && (value < 1 || (value < 100 && Number.isInteger(value)))) {
    // A price of an exchange of shares; a whole number may be decimal odds.
    const isUnclear = value >= 1 && (hasDecimals || value < 10)
    const share = priceIn('share', number)
    return isUnclear || share === undefined ? unclear(['share', 'decimal']) : read(share)
  }
  const among = unclearNotations(number)
  return among.length > 0 ? unclear(among) : read(number)
}
