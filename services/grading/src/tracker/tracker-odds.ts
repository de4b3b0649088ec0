/**
 * A price as its file means it: the notation that a column or the header names, the shares of a dollar that exchanges of
 * shares quote, and a question wherever a text means two prices.
 */
import { plainText } from '../domain/team-names.ts'
import type { OddsNotation } from '../wire/requests.ts'

/** Words of a header or of a column of notations, each a whole word. */
const NOTATION_WORDS: Readonly<Record<OddsNotation, string>> = {
  american: 'us usa american america am amer moneyline ml',
  decimal: 'decimal dec eu euro european europe continental decimale dezimal',
  fractional: 'uk fractional fraction frac british traditional',
  hong_kong: 'hk hongkong hkg',
  indonesian: 'id indo indonesian indonesia idn',
  malay: 'my malay malaysian malaysia mal',
  share: 'share shares cents cent contract contracts probability probabilities implied',
}

const NOTATIONS = Object.entries(NOTATION_WORDS).flatMap(([notation, words]) =>
  words.split(' ').map((word) => [word, notation as OddsNotation] as const),
)
/** Short words that a header has for other reasons: `My odds`. */
const NOT_IN_HEADERS = new Set('my id am ml mal'.split(' '))

/** Exchanges that sell shares of one dollar; others, such as Novig and Betfair, quote odds. */
const SHARE_EXCHANGES =
  /kalshi|polymarket|predict ?it|sporttrade|forecast ?ex|robinhood|crypto\.?com|manifold|\bstx\b|limitless|\bopinion\b/i

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
  return NOTATIONS.find(([word]) => words.includes(word) && !except.has(word))?.[1]
}

type OddsReading =
  | { readonly kind: 'odds'; readonly odds: string }
  /** Readings by their notation; all rows of a file may share the answer. */
  | {
      readonly kind: 'unclear'
      readonly readings: readonly { readonly notation: OddsNotation; readonly odds: string }[]
    }

/** Digits behind the point of a converted price: more than any book quotes. */
const DECIMALS = 8
const asText = (value: number): string => String(Number(value.toFixed(DECIMALS)))
/** What a profit of one pays on a stake of so much, exactly: `100/85` for 0.85. */
const favourite = (stake: number): string => {
  const scale = 10 ** (String(stake).split('.')[1]?.length ?? 0)
  return `${scale}/${Math.round(stake * scale)}`
}
const isWhole = (value: number): boolean => Number.isInteger(value)

/** The price of a number in a notation, in one that needs no header; undefined if the notation has no such number. */
function priceIn(notation: OddsNotation, text: string): string | undefined {
  const value = Number(text)
  const size = Math.abs(value)
  switch (notation) {
    case 'american':
      return size >= 100 && isWhole(value) ? `${value < 0 ? '-' : '+'}${size}` : undefined
    case 'decimal':
      return value > 1 && !text.startsWith('+') ? (isWhole(value) ? `${value}.0` : text) : undefined
    case 'fractional':
      return value > 0 ? asText(value + 1) : undefined
    case 'hong_kong':
      return value > 0 ? asText(value + 1) : undefined
    case 'indonesian':
      if (size < 1) return undefined
      return value > 0 ? asText(value + 1) : favourite(size)
    case 'malay':
      if (size === 0 || size > 1) return undefined
      return value > 0 ? asText(value + 1) : favourite(size)
    case 'share': {
      const share = value < 1 ? value : value / 100
      if (value <= 0 || share >= 1) return undefined
      const cents = Number((share * 100).toFixed(DECIMALS))
      return /^[1-9]\d?(?:\.\d)?$/.test(String(cents)) ? `${cents}¢` : asText(1 / share)
    }
    default:
      return notation satisfies never
  }
}

/** The different prices that a number is in these notations. */
function readingsOf(text: string, notations: readonly OddsNotation[]) {
  const byOdds = new Map<string, OddsNotation>()
  for (const notation of notations) {
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
  if (value <= -1 && value > -100) return ['indonesian']
  return []
}

/** A number, its decimal comma a point; undefined for `11/10`, `EVEN`, `54¢` and `1,250`, which parseOdds reads or refuses. */
function numberText(text: string, { isAmerican, isCommaDecimal }: NumberForm): string | undefined {
  const plain = text.replace(/^[@$€£]\s*|\s/g, '').replace(/[‒–−]/g, '-')
  // +1,200: a sign is American, and its commas separate thousands.
  const isGrouped = !isCommaDecimal && /^[+-]?\d{1,3}(?:,\d{3})+(?:\.0+)?$/.test(plain)
  if (isGrouped && (isAmerican || /^[+-]/.test(plain))) return plain.replaceAll(',', '')
  const point = isCommaDecimal || !isGrouped ? plain.replace(',', '.') : plain
  return /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/.test(point) ? point : undefined
}

type NumberForm = { readonly isAmerican: boolean; readonly isCommaDecimal: boolean }

/** How a price is read. */
type OddsContext = {
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

/** What a contradiction leaves: 1.91 is no American price. */
const LIKELY: readonly OddsNotation[] = [
  'decimal',
  'american',
  'hong_kong',
  'indonesian',
  'malay',
  'share',
]
/** Notations of a whole file: in the others only prices that are not clear are in question. */
const WHOLE_FILE: ReadonlySet<OddsNotation> = new Set([
  'hong_kong',
  'indonesian',
  'malay',
  'fractional',
])
/** A sign and three digits are American, whatever else is said; `.0` is what spreadsheets add. */
const AMERICAN = /^[+-]\d{3,}(?:\.0+)?$/

/** A share of a dollar, if the price is at an exchange of them; `unclear` if it may be decimal odds. */
function readShare(number: string, { hasDecimals, isShares }: OddsContext) {
  const value = Number(number)
  if (!isShares || value <= 0 || value >= 100) return undefined
  if (value < 1) return priceIn('share', number)
  if (!isWhole(value)) return undefined
  return hasDecimals || value < 10 ? 'unclear' : priceIn('share', number)
}

const read = (odds: string): OddsReading => ({ kind: 'odds', odds })

export function readOdds(text: string, context: OddsContext): OddsReading {
  const { choice, header, isCommaDecimal, named: cell } = context
  const named = cell === '' ? undefined : notationNamed(cell)
  const notation = named ?? header
  const number = numberText(text, { isAmerican: notation === 'american', isCommaDecimal })
  if (number === undefined) return read(text)
  const unclear = (notations: readonly OddsNotation[]): OddsReading => {
    const chosen = choice !== undefined && notations.includes(choice) && priceIn(choice, number)
    return chosen ? read(chosen) : { kind: 'unclear', readings: readingsOf(number, notations) }
  }
  if (AMERICAN.test(number)) return read(number.replace(/\.0+$/, ''))
  if (cell !== '' && named === undefined) return unclear(LIKELY)
  const inForce = notation ?? (choice !== undefined && WHOLE_FILE.has(choice) ? choice : undefined)
  if (inForce !== undefined) {
    const odds = priceIn(inForce, number)
    return odds === undefined ? unclear(LIKELY) : read(odds)
  }
  const share = readShare(number, context)
  if (share === 'unclear') return unclear(['share', 'decimal'])
  if (share !== undefined) return read(share)
  const notations = unclearNotations(number)
  return notations.length > 0 ? unclear(notations) : read(number)
}
