/**
 * Which rows of a file are one bet (G19): exports write a multiple over several rows, by one id, with cells left empty below
 * its first row, or under a row that is only its name. What may be legs as well as bets by themselves is doubtful.
 */
import { LEGS_MAX } from '../wire/requests.ts'
import { isMultiple, namesOnlyMultiple } from './bet-kind.ts'
import type { TrackerCells, TrackerField } from './tracker-columns.ts'
import type { TrackerRecord } from './tracker-records.ts'

type SlipRow = TrackerRecord & { readonly cells: TrackerCells }

/** One bet: its row, or the rows of its legs with the one that names it. */
export type Slip = { readonly rows: readonly SlipRow[]; readonly isDoubtful: boolean }

type Relation = 'legs' | 'doubtful' | 'apart'

const NAMES = ['home', 'away', 'event', 'market', 'selection', 'line'] as const
const named = ({ cells }: SlipRow): string => NAMES.map(cells.cell).join('\n').toLowerCase()

/** A row that is only a multiple's name: `Parlay`, `3 legs`. */
export const isParent = ({ cells }: SlipRow): boolean =>
  (['home', 'event', 'selection'] as const).every((field) =>
    namesOnlyMultiple(cells.cell(field)),
  ) && isMultiple(cells)

const EMPTY = /^(?:[\s\-–—_./0]*|n\/?a|none|null|nil)$/i

/** A cell, empty if it has a mark or a zero for nothing. */
const statedValue = ({ cells }: SlipRow, field: TrackerField): string => {
  const value = cells.cell(field)
  return EMPTY.test(value) ? '' : value
}

/** Whether rows have one value or leave it empty, and whether only one of them has it. */
function sharing(rows: readonly SlipRow[], field: TrackerField) {
  const values = rows.map((row) => statedValue(row, field)).filter((value) => value !== '')
  return {
    isShared: new Set(values).size <= 1,
    isOnOne: rows.length > 1 && values.length === 1,
  }
}

/** Counters and words: rows that are apart may have them by chance. */
const isWeakId = (id: string): boolean => id.length < 5 || !/\d/.test(id)

/** What rows of one id are to one another. */
function relation(rows: readonly SlipRow[]): Relation {
  if (rows.length > LEGS_MAX + 1 || new Set(rows.map(named)).size < 2) return 'apart'
  if (rows.some(({ cells }) => isMultiple(cells))) return 'legs'
  const [odds, stake, placed] = (['odds', 'stake', 'placed'] as const).map((field) =>
    sharing(rows, field),
  )
  if (odds?.isOnOne === true || stake?.isOnOne === true) return 'legs'
  const isAtOnce = placed?.isShared === true
  if (odds?.isShared === true && stake?.isShared === true) return isAtOnce ? 'legs' : 'doubtful'
  return isAtOnce && (odds?.isShared === true || stake?.isShared === true) ? 'doubtful' : 'apart'
}

/** Rows by the ids of a column; weak ones only where they follow one another. */
function groupsBy(rows: readonly SlipRow[], column: number): readonly (readonly number[])[] {
  const groups = new Map<string, number[]>()
  let run = 0
  let before = ''
  for (const [index, { cells }] of rows.entries()) {
    const id = cells.hints('ids')[column]?.trim() ?? ''
    if (id !== before) run += 1
    before = id
    if (EMPTY.test(id)) continue
    const key = isWeakId(id) ? `${id} ${run}` : id
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [index])
    else group.push(index)
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

/** What a row has as a bet, whatever it is on. */
const OF_A_BET = ['stake', 'placed', 'book', 'result'] as const
const SUMS = /^(?:sub|grand )?totals?\b|^(?:sum|summary|profit|roi|balance)\b/i

/** `+ Liverpool`: a leg of the bet above. */
const ADDED = /^[+&]\s*\p{L}/u

/** What a row is to the bet above it. */
function relationToAbove(row: SlipRow, slip: readonly SlipRow[]): Relation {
  const [lead, last] = [slip[0] as SlipRow, slip.at(-1) as SlipRow]
  const { cell, hints } = row.cells
  const own = (field: TrackerField): string => statedValue(row, field)
  if (OWN_KEY.test(cell('market'))) return 'apart'
  if (ADDED.test(cell('event')) || ADDED.test(cell('selection'))) return 'legs'
  const isNamed = (['home', 'event', 'selection'] as const).some((field) => cell(field) !== '')
  if (!isNamed || SUMS.test(cell('selection')) || slip.length > LEGS_MAX) return 'apart'
  const ids = hints('ids').map((id) => EMPTY.test(id))
  const hasOwnId = lead.cells
    .hints('ids')
    .some((id, column) => ids[column] === false && id !== hints('ids')[column])
  if (hasOwnId) return 'apart'
  if (legNumber(row) > 1 && legNumber(row) === legNumber(last) + 1) return 'legs'
  const lacks = OF_A_BET.filter((field) => own(field) === '' && statedValue(lead, field) !== '')
  // A leg has a result of its own.
  const hasOwn = OF_A_BET.some(
    (field) =>
      field !== 'result' &&
      own(field) !== '' &&
      (field === 'stake' || own(field) !== statedValue(lead, field)),
  )
  if (hasOwn) return 'apart'
  const lacksId = lead.cells
    .hints('ids')
    .some((id, column) => ids[column] === true && !EMPTY.test(id))
  const isBare = lacks.includes('stake') || lacksId
  const isPriced = slip.some((leg) => statedValue(leg, 'odds') !== '')
  if (isPriced && isParent(lead)) return isBare || own('odds') === '' ? 'legs' : 'doubtful'
  if (own('odds') === '')
    return !isPriced ? 'apart' : lacks.length > 0 || lacksId ? 'legs' : 'doubtful'
  if (!isBare) return 'apart'
  const lacksBoth = lacksId && lacks.includes('stake')
  return isMultiple(lead.cells) || lacksBoth || own('odds') === statedValue(lead, 'odds')
    ? 'legs'
    : 'doubtful'
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
    const above = leads[index - 1]
    const slip = above === undefined ? undefined : slips.get(above)
    const isFirst = leads[index] === index
    const is = isFirst && slip !== undefined ? relationToAbove(row, slip) : 'apart'
    if (is === 'legs') leads[index] = above ?? index
    if (is === 'doubtful') doubtful.add(above ?? index).add(index)
    const lead = leads[index] ?? index
    slips.set(lead, [...(slips.get(lead) ?? []), row])
  }
  return [...slips].map(([lead, legs]) => ({ rows: legs, isDoubtful: doubtful.has(lead) }))
}
