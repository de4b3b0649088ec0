/**
 * The legs of a multiple as a parlay (G18), where the file says each leg's bet and price: a void leg leaves the others, so the
 * total alone does not do. Several bets in one, such as a Yankee, and bets whose legs depend on one another are none.
 */
import { parseOdds } from '@tallystick/odds'
import type { WireParlay, WireSingle } from '../wire/requests.ts'
import { betKind, kindProblem, legsSaid, namesOnlyMultiple, saysSeveralBets } from './bet-kind.ts'
import { isPlacedAfterStart } from './placed-after-start.ts'
import type { TrackerCells, TrackerField } from './tracker-columns.ts'
import type { DayOrder } from './tracker-dates.ts'
import { problem, question, type TrackerProblem } from './tracker-problem.ts'
import { isParent, type Slip } from './tracker-slips.ts'

type Cell = TrackerCells['cell']

/** How a file's legs and prices are read. */
type Reader = {
  readonly order: DayOrder | undefined
  readonly single: (row: TrackerCells) => WireSingle | TrackerProblem
  readonly odds: (cell: Cell) => string | TrackerProblem
}

const MULTIPLE = kindProblem('multiple')
const legsProblem = (expected: string): TrackerProblem => problem('legs', expected, 'multiple')

/** What separates the legs of one cell, surer marks first. */
const SEPARATORS = [
  /\s*\n\s*/,
  /\s*\|\s*/,
  /\s*;\s*/,
  /\s+\+\s+(?=[\p{L}\d])/u,
  /\s+\/\/?\s+/,
  /,\s+/,
]
/** `1. Arsenal`, `Leg 2: Liverpool`, `- Everton`. */
const BULLET = /^(?:(?:leg\s*)?\d{1,2}[.):]\s+|leg\s+\d{1,2}\s+|[•·*–-]\s+)/i

function partsOf(text: string): readonly string[] {
  for (const separator of SEPARATORS) {
    const parts = text.split(separator).filter((part) => part.trim() !== '')
    if (parts.length > 1) return parts.map((part) => part.trim().replace(BULLET, ''))
  }
  return text === '' ? [] : [text.trim()]
}

/** `@1.90`, `@ 10/11`, `-110`, `(+120)` behind a bet. */
const PRICE =
  /\s*(?:[[(]?@\s*(?<at>[+-]?\d+(?:[.,]\d+)?(?:\/\d+)?|even|evens)|[[(]?(?<american>[+-]\d{3,}))\s*[\])]?$/i
/** `Arsenal (Arsenal v Chelsea)`, `Arsenal v Chelsea: Arsenal`. */
const IN_BRACKETS = /^(.+?)\s*\(([^()]+\s(?:v|vs|@|-|–)\.?\s[^()]+)\)$/i
const BEFORE_COLON = /^(.+?\s(?:v|vs|@)\.?\s.+?)\s*:\s+(.+)$/i

/** A leg's cells, with what its text says of its price and match in their places. */
function legCells(row: TrackerCells, own: Cell): TrackerCells {
  const written = own('selection')
  const { american, at } = PRICE.exec(written)?.groups ?? {}
  const price = at ?? american
  const text = price === undefined ? written : written.replace(PRICE, '')
  const [, selection, event] = IN_BRACKETS.exec(text) ?? []
  const [, eventBefore, selectionBehind] = BEFORE_COLON.exec(text) ?? []
  const isEventKnown = own('event') !== '' || own('home') !== ''
  const said: Partial<Record<TrackerField, string | undefined>> = {
    odds: price ?? own('legOdds'),
    market: namesOnlyMultiple(own('market')) ? '' : own('market'),
    selection: isEventKnown ? text : (selection ?? selectionBehind ?? text),
    event: isEventKnown ? own('event') : (event ?? eventBefore ?? ''),
  }
  return {
    ...row,
    cell: (field) => said[field] ?? own(field),
    hints: (hint) =>
      ['many', 'system', 'legs', 'legNumber', 'ids'].includes(hint)
        ? []
        : row.hints(hint).filter((kind) => !namesOnlyMultiple(kind)),
    others: [],
    legs: [],
  }
}

/** Members that a leg has of the whole, if it has none of its own. */
const OF_THE_WHOLE: readonly TrackerField[] = [
  'date',
  'placed',
  'sport',
  'league',
  'book',
  'notation',
]

/** The legs of one row: in columns of their own, or side by side in its cells. */
function legsInRow({ cells }: { readonly cells: TrackerCells }): readonly TrackerCells[] {
  const { cell, legs } = cells
  if (legs.length > 0)
    return legs.map((own) =>
      legCells(cells, (field) => {
        if (field === 'legOdds') return own('legOdds') || own('odds')
        return own(field) || (OF_THE_WHOLE.includes(field) ? cell(field) : '')
      }),
    )
  const count = partsOf(cell('selection')).length
  return partsOf(cell('selection')).map((_part, index) =>
    legCells(cells, (field) => {
      const parts = partsOf(cell(field))
      if (parts.length === count) return parts[index] ?? ''
      if (field === 'event' && namesOnlyMultiple(cell(field))) return ''
      // A price of the whole is none of a leg's.
      return field === 'odds' || field === 'legOdds' ? '' : cell(field)
    }),
  )
}

/** The legs of several rows; the price in a row is its leg's if the total stands elsewhere. */
function legsInRows({ rows }: Slip, hasTotal: boolean): readonly TrackerCells[] {
  const lead = rows[0]?.cells
  return rows
    .filter((row) => !isParent(row))
    .map(({ cells }) =>
      legCells(cells, (field) => {
        if (field === 'legOdds') return cells.cell(field) || (hasTotal ? cells.cell('odds') : '')
        return cells.cell(field) || (OF_THE_WHOLE.includes(field) ? (lead?.cell(field) ?? '') : '')
      }),
    )
}

/** The price of the whole as written: in a column of totals, on the row that names it, or alike on all rows. */
function totalIn({ rows }: Slip): string {
  const pricesIn = (field: TrackerField) => [
    ...new Set(
      rows.map(({ cells }) => cells.cell(field)).filter((price) => /[1-9]|^ev/i.test(price)),
    ),
  ]
  const parent = rows.find((row) => isParent(row))?.cells.cell('odds')
  const [total = '', ...others] = parent ? [parent] : pricesIn('totalOdds')
  if (total !== '' || others.length > 0) return others.length > 0 ? '' : total
  const [price = '', ...more] = pricesIn('odds')
  return more.length > 0 ? '' : price
}

function readLeg(cells: TrackerCells, { order, single }: Reader): WireSingle | TrackerProblem {
  const kind = betKind(cells)
  if (kind !== undefined) return kindProblem(kind)
  if (isPlacedAfterStart(cells.cell, order))
    return problem('placed_at', 'a time before the start in the same row', 'placed_after_start')
  if (cells.cell('odds') === '')
    return legsProblem(
      'the price of each leg, in a column such as Leg Odds or as “@1.90” behind it: a void leg leaves the others',
    )
  const leg = single(cells)
  // An answer that sends a pick would send the leg alone.
  return 'expected' in leg && leg.options?.some((option) => 'bet' in option) === true
    ? { ...leg, options: [] }
    : leg
}

/** What the API takes of a leg. */
const legMembers = (leg: WireSingle): WireParlay['legs'][number] => {
  const { date, either_order, league, line, market, odds, selection, starts_at } = leg
  return { market, selection, line, odds, date, starts_at, league, either_order }
}

/** How far a total may be from the product of the legs' prices: both are rounded. */
const PRODUCT_SHARE_MAX = 0.05

const decimal = (odds: string | number): number => {
  const parsed = parseOdds(odds)
  return parsed.kind === 'odds' ? parsed.decimal : Number.NaN
}

/** Reads a multiple. `more` are members of the whole: its stake, book and mark. */
export function readParlay(
  slip: Slip,
  reader: Reader,
  more: Omit<WireParlay, 'legs' | 'odds'>,
): WireParlay | TrackerProblem {
  const [lead] = slip.rows
  if (lead === undefined || slip.rows.some(({ cells }) => saysSeveralBets(cells))) return MULTIPLE
  const total = totalIn(slip)
  const hasTotal = slip.rows.some((row) => isParent(row) || row.cells.cell('totalOdds') !== '')
  const written = slip.rows.length > 1 ? legsInRows(slip, hasTotal) : legsInRow(lead)
  if (written.length < 2) return MULTIPLE
  const counts = slip.rows.flatMap(({ cells }) => legsSaid(cells))
  const count = counts.find((legs) => legs !== written.length)
  if (count !== undefined) return legsProblem(`${count} legs: the file has ${written.length}`)
  const legs: WireSingle[] = []
  for (const cells of written) {
    const leg = readLeg(cells, reader)
    if ('expected' in leg) return leg
    legs.push(leg)
  }
  if (total === '') return legsProblem('the price of the whole, beside those of its legs')
  const odds = reader.odds((field) => (field === 'odds' ? total : lead.cells.cell(field)))
  if (typeof odds !== 'string') return odds
  const [{ placed_at } = {} as WireSingle] = legs
  const parlay: WireParlay = {
    legs: legs.map(legMembers),
    odds,
    placed_at,
    ...more,
  }
  const product = legs.reduce((all, leg) => all * decimal(leg.odds), 1)
  if (Math.abs(decimal(odds) / product - 1) <= PRODUCT_SHARE_MAX) return parlay
  const expected = `the product of the legs’ prices, ${product.toFixed(2)}, as the price of the whole`
  return question('odds', expected, [
    { label: `these are all of its legs, and it was taken at ${odds}`, bet: parlay },
  ])
}
