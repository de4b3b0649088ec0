/**
 * What a row says of its bet besides the bet: stake, book, result, profit and closing price. They are compared with the
 * ledger and never graded (G22), so a cell that is not understood is left out.
 */
import { parseOdds } from '@tallystick/odds'
import type { WireSingle } from '../wire/requests.ts'
import type { TrackerField } from './tracker-columns.ts'

type OwnRecord = Pick<WireSingle, 'stake' | 'book' | 'result' | 'profit' | 'closing_odds'>

/** Results as trackers write them, without case and punctuation. */
const RESULTS: Readonly<Record<NonNullable<OwnRecord['result']>, string>> = {
  won: 'w win won winner settledwin gewonnen gewinn ganada ganado vinta vinto gagne',
  lost: 'l loss lose lost loser settledloss verloren perdida perdido persa perso perdu',
  push: 'p push pushed settledpush',
  void: 'v void voided settledvoid cancelled canceled refund refunded returned nonrunner nr annullata anulada storniert',
  half_won: 'hw halfwon halfwin wonhalf halbgewonnen',
  half_lost: 'hl halflost halfloss losthalf halbverloren',
}

const RESULT_NAMED = new Map(
  Object.entries(RESULTS).flatMap(([result, words]) =>
    words.split(' ').map((word) => [word, result as NonNullable<OwnRecord['result']>] as const),
  ),
)

const plainWord = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')

/** An amount of money or units: `-$25.00`, `(25)`, `1.234,50`, `1,234.50`. */
function amountIn(text: string): number | undefined {
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
function closingIn(
  cell: (field: TrackerField) => string,
  { hasLine, odds }: { readonly hasLine: boolean; readonly odds: (text: string) => string },
): string | undefined {
  const price = cell('closing_odds')
  const text = odds(price === '' ? cell('closing_line') : price)
  const mayBeLine = price === '' && hasLine && Math.abs(Number(text)) < 100
  if (text === '' || mayBeLine) return undefined
  return parseOdds(text).kind === 'odds' ? text : undefined
}

/** Reads a row's own record. `odds` applies the notation of the file's prices. */
export function readOwnRecord(
  cell: (field: TrackerField) => string,
  bet: { readonly hasLine: boolean; readonly odds: (text: string) => string },
): OwnRecord {
  const stake = amountIn(cell('stake'))
  const book = cell('book').replace(/\p{C}/gu, ' ').slice(0, 80)
  return {
    stake: stake !== undefined && stake > 0 ? stake : undefined,
    book: book || undefined,
    result: RESULT_NAMED.get(plainWord(cell('result'))),
    profit: amountIn(cell('profit')),
    closing_odds: closingIn(cell, bet),
  }
}
