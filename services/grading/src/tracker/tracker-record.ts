/**
 * What a row says of its bet besides the bet: stake, book, result, profit and closing price. They are compared with the
 * ledger and never graded (G22), so a cell that is not understood is left out.
 */
import { parseOdds } from '@tallystick/odds'
import type { WireSingle } from '../wire/requests.ts'
import words from './bet-kind-words.json' with { type: 'json' }
import type { Cell } from './tracker-columns.ts'
import type { OddsReading } from './tracker-odds.ts'

type OwnRecord = Pick<WireSingle, 'stake' | 'book' | 'result' | 'profit' | 'closing_odds'>

/** Results as trackers write them, without case and punctuation. */
const RESULT_NAMED = new Map(
  Object.entries(words.results).flatMap(([result, names]) =>
    names.split(' ').map((name) => [name, result as NonNullable<OwnRecord['result']>] as const),
  ),
)

const plainWord = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')

/** An amount of money or units: `-$25.00`, `(25)`, `1.234,50`, `1,234.50`. */
export function amountIn(text: string): number | undefined {
  const digits = text
    .replace(/[‒–—−]/g, '-')
    .replace(/[^\d.,]/g, '')
    .replace(/[.,](?=.*[.,])/g, '')
    .replace(/,(?=\d{1,2}$)/, '.')
    .replaceAll(',', '')
  if (!/^\d*\.?\d+$/.test(digits)) return undefined
  const isNegative = /^\D*[-‒–—−]|^\s*\(.*\)\s*$/.test(text)
  return isNegative ? -Number(digits) : Number(digits)
}

/** A closing price; a column of closing lines may have a handicap or a total instead, for a bet that has one. */
function closingIn(cell: Cell, hasLine: boolean, readPrice: ReadPrice): string | undefined {
  const price = cell('closing_odds')
  const written = price || cell('closing_line')
  const read = readPrice(written)
  // One that may be two prices is left as it is.
  const odds = read.kind === 'odds' ? read.odds : written
  const mayBeLine = price === '' && hasLine && Math.abs(Number(odds)) < 100
  return odds !== '' && !mayBeLine && parseOdds(odds).kind === 'odds' ? odds : undefined
}

type ReadPrice = (text: string) => OddsReading

/** Reads a row's own record. `readPrice` applies the notation of the file's prices. */
export function readOwnRecord(cell: Cell, hasLine: boolean, readPrice: ReadPrice): OwnRecord {
  const stake = amountIn(cell('stake'))
  return {
    stake: stake !== undefined && stake > 0 ? stake : undefined,
    book: cell('book').replace(/\p{C}/gu, ' ').slice(0, 80) || undefined,
    result: RESULT_NAMED.get(plainWord(cell('result'))),
    profit: amountIn(cell('profit')),
    closing_odds: closingIn(cell, hasLine, readPrice),
  }
}
