/**
 * A slip is one bet of a file: its row, or the rows of its legs (G19). Exports write a multiple over several rows, by one id,
 * with cells left empty below its first row, or under a row that is only its name; or side by side in one row. Where the file
 * says each leg's bet and price, the slip is a parlay (G18): a void leg leaves the others, so the total alone does not do.
 * Several bets in one, such as a Yankee, and bets whose legs depend on one another are none.
 */
import { parseOdds } from '@tallystick/odds'
import { getOrMake } from '@tallystick/service-kit'
import { LEGS_MAX, type WireParlay, type WireSingle } from '../wire/requests.ts'
import {
  type BetKind,
  betKind,
  isMultiple,
  kindProblem,
  legsSaid,
  namesOnlyMultiple,
  saysSeveralBets,
} from './bet-kind.ts'
import type { Cell, TrackerCells, TrackerField } from './tracker-columns.ts'
import { type DayOrder, isPlacedAfterStart } from './tracker-dates.ts'
import { problem, question, type TrackerProblem } from './tracker-problem.ts'
import type { TrackerRecord } from './tracker-records.ts'

type SlipRow = TrackerRecord & { readonly cells: TrackerCells }

/** What may be legs as well as bets by themselves is doubtful. */
export type Slip = { readonly rows: readonly SlipRow[]; readonly isDoubtful: boolean }

type Relation = 'legs' | 'doubtful' | 'apart'

const NAMES = ['home', 'away', 'event', 'market', 'selection', 'line'] as const
/** What names a bet, where a row has one. */
const NAMES_A_BET = ['home', 'event', 'selection'] as const

/** A row that is only a multiple's name: `Parlay`, `3 legs`. */
export const isParent = ({ cells }: SlipRow): boolean =>
  NAMES_A_BET.every((field) => namesOnlyMultiple(cells.cell(field))) && isMultiple(cells)

const EMPTY = /^(?:[\s\-–—_./0]*|n\/?a|none|null|nil)$/i

/** A cell, empty if it has a mark or a zero for nothing. */
const stated = (cell: string): string => (EMPTY.test(cell) ? '' : cell)

/** What rows of one id are to one another. */
function relation(rows: readonly SlipRow[]): Relation {
  const names = rows.map(({ cells }) => NAMES.map(cells.cell).join('\n').toLowerCase())
  if (rows.length > LEGS_MAX + 1 || new Set(names).size < 2) return 'apart'
  if (rows.some(({ cells }) => isMultiple(cells))) return 'legs'
  const values = (field: TrackerField): readonly string[] =>
    rows.map(({ cells }) => stated(cells.cell(field))).filter((value) => value !== '')
  if (values('odds').length === 1 || values('stake').length === 1) return 'legs'
  const totals = new Set(values('totalOdds'))
  if (totals.size === 1 && !values('odds').some((odds) => totals.has(odds))) return 'legs'
  const shared = (['odds', 'stake', 'placed'] as const).filter(
    (field) => new Set(values(field)).size <= 1,
  )
  return shared.length === 3 ? 'legs' : shared.length === 2 ? 'doubtful' : 'apart'
}

/** Counters and words: rows that are apart may have them by chance. */
const isWeakId = (id: string): boolean => id.length < 5 || !/\d/.test(id)

/** Rows by the ids of a column; weak ones only where they follow one another. */
function groupsBy(rows: readonly SlipRow[], column: number): readonly (readonly number[])[] {
  const groups = new Map<string, number[]>()
  let run = 0
  let before = ''
  for (const [index, { cells }] of rows.entries()) {
    const id = cells.hints('ids')[column] ?? ''
    if (id !== before) run += 1
    before = id
    if (stated(id) !== '')
      getOrMake(groups, isWeakId(id) ? `${id} ${run}` : id, () => []).push(index)
  }
  return [...groups.values()].filter((group) => group.length > 1)
}

/** The number of a leg: `2`, `Leg 2`, `2/3`. */
const legNumber = ({ cells }: SlipRow): number =>
  Number(
    cells.hints('legNumber').flatMap((text) => /^\D*(\d{1,2})(?:\D|$)/.exec(text)?.[1] ?? [])[0],
  )

/** One of our own keys, `soccer/epl.20240423.ars-che/1x2/ft`: such a row is a pick by itself. */
export const OWN_KEY = /^[\w-]+\/[^/]+\/[\w:.-]+\/[a-z0-9]+(?:\/|@|$)/i

const SUMS = /^(?:sub|grand )?totals?\b|^(?:sum|summary|profit|roi|balance)\b/i
/** `+ Liverpool`: a leg of the bet above. */
const ADDED = /^[+&]\s*\p{L}/u

const isLacking = ([own, above]: readonly (string | undefined)[]) => own === '' && above !== ''

/** What a row is to the bet above it. */
function relationToAbove(row: SlipRow, slip: readonly SlipRow[]): Relation {
  const [lead, last] = [slip[0] as SlipRow, slip.at(-1) as SlipRow]
  const { cell, hints } = row.cells
  if (OWN_KEY.test(cell('market'))) return 'apart'
  if (ADDED.test(cell('event')) || ADDED.test(cell('selection'))) return 'legs'
  const isNamed = NAMES_A_BET.some((field) => cell(field) !== '')
  if (!isNamed || SUMS.test(cell('selection')) || slip.length > LEGS_MAX) return 'apart'
  const values = (field: TrackerField) => [stated(cell(field)), stated(lead.cells.cell(field))]
  const ids = hints('ids').map((id, column) => [
    stated(id),
    stated(lead.cells.hints('ids')[column] ?? ''),
  ])
  if (ids.some(([own, above]) => own !== '' && own !== above)) return 'apart'
  if (legNumber(row) > 1 && legNumber(row) === legNumber(last) + 1) return 'legs'
  // A leg has a result of its own, and no stake.
  const [stake, ...others] = (['stake', 'placed', 'book'] as const).map(values)
  if (stake?.[0] !== '' || others.some(([own, above]) => own !== '' && own !== above))
    return 'apart'
  const [lacksId, lacksStake] = [ids.some(isLacking), isLacking(stake)]
  const isBare = lacksId || lacksStake
  const [price, priceAbove] = values('odds')
  const isPriced = slip.some(({ cells }) => stated(cells.cell('odds')) !== '')
  if (isPriced && isParent(lead)) return isBare || price === '' ? 'legs' : 'doubtful'
  if (price === '' && !isPriced) return 'apart'
  if (price === '')
    return isBare || [...others, values('result')].some(isLacking) ? 'legs' : 'doubtful'
  if (!isBare) return 'apart'
  const isSurely = isMultiple(lead.cells) || (lacksId && lacksStake) || price === priceAbove
  return isSurely ? 'legs' : 'doubtful'
}

/** The bets of a file, in the order of their first rows. */
export function gatherSlips(rows: readonly SlipRow[]): readonly Slip[] {
  const leads = rows.map((_row, index) => index)
  const doubtful = new Set<number>()
  const columns = rows[0]?.cells.hints('ids') ?? []
  for (const column of columns.keys())
    for (const group of groupsBy(rows, column)) {
      const is = relation(group.map((index) => rows[index] as SlipRow))
      for (const index of group)
        if (is === 'legs') leads[index] = Math.min(leads[index] ?? index, group[0] ?? index)
        else if (is === 'doubtful') doubtful.add(index)
    }
  const slips = new Map<number, SlipRow[]>()
  for (const [index, row] of rows.entries()) {
    const above = leads[index - 1] ?? index
    const slip = slips.get(above)
    const isFirst = leads[index] === index
    const is = isFirst && slip !== undefined ? relationToAbove(row, slip) : 'apart'
    if (is === 'legs') leads[index] = above
    if (is === 'doubtful') doubtful.add(above).add(index)
    getOrMake(slips, leads[index] ?? index, () => []).push(row)
  }
  return [...slips].map(([lead, legs]) => ({ rows: legs, isDoubtful: doubtful.has(lead) }))
}

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

function partsIn(text: string): readonly string[] {
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
const WITH_EVENT = [
  /^(?<bet>.+?)\s*\((?<match>[^()]+\s(?:v|vs|@|-|–)\.?\s[^()]+)\)$/i,
  /^(?<match>.+?\s(?:v|vs|@)\.?\s.+?)\s*:\s+(?<bet>.+)$/i,
]
/** What is said of the whole, and of no leg. */
const HINTS_OF_THE_WHOLE = ['many', 'system', 'legs', 'legNumber', 'ids']

/** A leg's cells, with what its text says of its price and match in their places. */
function legCells(row: TrackerCells, own: Cell): TrackerCells {
  const written = own('selection')
  const { american, at } = PRICE.exec(written)?.groups ?? {}
  const price = at ?? american
  const text = price === undefined ? written : written.replace(PRICE, '')
  const isEventKnown = own('event') !== '' || own('home') !== ''
  const { bet, match } = WITH_EVENT.map((form) => form.exec(text)?.groups).find(Boolean) ?? {}
  const said: Partial<Record<TrackerField, string>> = {
    odds: price ?? own('legOdds'),
    market: namesOnlyMultiple(own('market')) ? '' : own('market'),
    selection: isEventKnown ? text : (bet ?? text),
    event: isEventKnown ? own('event') : (match ?? ''),
  }
  return {
    cell: (field) => said[field] ?? own(field),
    hints: (hint) =>
      HINTS_OF_THE_WHOLE.includes(hint)
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

/** The legs on rows or in columns of their own, or side by side in the cells of one row. */
function legsIn({ rows }: Slip, lead: TrackerCells): readonly TrackerCells[] {
  const hasTotal = rows.some((row) => isParent(row) || row.cells.cell('totalOdds') !== '')
  // The price in a row is its leg's if the total stands elsewhere.
  const ownLeg = (row: TrackerCells, own: Cell, isPriced: boolean) =>
    legCells(row, (field) => {
      if (field === 'legOdds') return own(field) || (isPriced ? own('odds') : '')
      return own(field) || (OF_THE_WHOLE.includes(field) ? lead.cell(field) : '')
    })
  if (rows.length > 1)
    return rows
      .filter((row) => !isParent(row))
      .map(({ cells }) => ownLeg(cells, cells.cell, hasTotal))
  if (lead.legs.length > 0) return lead.legs.map((own) => ownLeg(lead, own, true))
  const selections = partsIn(lead.cell('selection'))
  return selections.map((_part, index) =>
    legCells(lead, (field) => {
      const [written, parts] = [lead.cell(field), partsIn(lead.cell(field))]
      if (parts.length === selections.length) return parts[index] ?? ''
      // A price or a name of the whole is none of a leg's.
      const isOfWhole = field === 'event' && namesOnlyMultiple(written)
      return isOfWhole || field === 'odds' || field === 'legOdds' ? '' : written
    }),
  )
}

/** The price of the whole as written: on the row that names it, in a column of totals, or alike on all rows. */
function totalIn({ rows }: Slip): string {
  const pricesIn = (field: TrackerField) => [
    ...new Set(
      rows.map(({ cells }) => cells.cell(field)).filter((price) => /[1-9]|^ev/i.test(price)),
    ),
  ]
  const parent = rows.find(isParent)?.cells.cell('odds')
  const totals = parent ? [parent] : pricesIn('totalOdds')
  const [total = '', ...others] = totals.length > 0 ? totals : pricesIn('odds')
  return others.length > 0 ? '' : total
}

/** Why no close grades a bet of such kinds and times, whatever it is on; what a multiple is on, its legs say. */
export function barProblem(
  kinds: readonly (BetKind | undefined)[],
  cell: Cell,
  order: DayOrder | undefined,
): TrackerProblem | undefined {
  const kind = kinds.find((found) => found !== undefined && found !== 'multiple')
  if (kind !== undefined) return kindProblem(kind)
  return isPlacedAfterStart(cell, order)
    ? problem('placed_at', 'a time before the start in the same row', 'placed_after_start')
    : undefined
}

function readLeg(row: TrackerCells, { order, single }: Reader): WireSingle | TrackerProblem {
  const kind = betKind(row)
  const barred = barProblem([kind], row.cell, order)
  if (barred !== undefined) return barred
  if (kind === 'multiple') return MULTIPLE
  if (row.cell('odds') === '')
    return legsProblem(
      'the price of each leg, in a column such as Leg Odds or as “@1.90” behind it: a void leg leaves the others',
    )
  const leg = single(row)
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
  const rows = slip.rows.map(({ cells }) => cells)
  const [lead] = rows
  if (lead === undefined || rows.some(saysSeveralBets)) return MULTIPLE
  const total = totalIn(slip)
  const written = legsIn(slip, lead)
  if (written.length < 2) return MULTIPLE
  const count = rows.flatMap(legsSaid).find((legs) => legs !== written.length)
  if (count !== undefined) return legsProblem(`${count} legs: the file has ${written.length}`)
  const legs: WireSingle[] = []
  for (const cells of written) {
    const leg = readLeg(cells, reader)
    if ('expected' in leg) return leg
    legs.push(leg)
  }
  if (total === '') return legsProblem('the price of the whole, beside those of its legs')
  const odds = reader.odds((field) => (field === 'odds' ? total : lead.cell(field)))
  if (typeof odds !== 'string') return odds
  const parlay = { legs: legs.map(legMembers), odds, placed_at: legs[0]?.placed_at, ...more }
  const product = legs.reduce((all, leg) => all * decimal(leg.odds), 1)
  if (Math.abs(decimal(odds) / product - 1) <= PRODUCT_SHARE_MAX) return parlay
  const expected = `the product of the legs’ prices, ${product.toFixed(2)}, as the price of the whole`
  return question('odds', expected, [
    { label: `these are all of its legs, and it was taken at ${odds}`, bet: parlay },
  ])
}
