/**
 * Finds each field's column in a tracker's file by its header. The spellings in tracker-columns.json are those of the common
 * exports; docs/how-to/audit-a-tracker-file.md says where each was seen.
 */
import { withoutAccents } from '../domain/markets/team-names.ts'
import type { OddsNotation } from '../wire/requests.ts'
import spelled from './tracker-columns.json' with { type: 'json' }
import { notationOfHeader } from './tracker-odds.ts'

/** What a file says in one column, the best spelled one. */
export type TrackerField = keyof typeof spelled.fields
/** What it may say in several. */
type TrackerHint = keyof typeof spelled.hints | 'again' | 'lines' | 'placed'

/** Columns by what their header means, numbered from 0, better spellings first. */
type NamedColumns = ReadonlyMap<string, readonly number[]>

export type TrackerColumns = {
  readonly named: NamedColumns
  /** Of `Leg 1`, `Leg 1 Odds`, `Leg 2` …: each leg's columns. */
  readonly legs: readonly NamedColumns[]
  /** Columns that no list knows: a whole cell may still name a kind. */
  readonly others: readonly number[]
  /** What the header says of its odds: `Odds (US)` is American. */
  readonly notation: OddsNotation | undefined
}

export type Cell = (field: TrackerField) => string

/** A row by what its columns mean. */
export type TrackerCells = {
  readonly cell: Cell
  /** The cells of all columns that say such a thing. */
  readonly hints: (hint: TrackerHint) => readonly string[]
  readonly others: readonly string[]
  /** The legs that have columns of their own. */
  readonly legs: readonly Cell[]
}

/** `20:00`, `7:45 PM`. */
const CLOCK_ALONE =
  /^\d{1,2}[:.]\d{2}(?::\d{2})?\s*(?:[ap]m)?(?:\s*(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?$/i

/** A day with its clock, wherever the two stand. */
function momentIn(cells: readonly string[]): string {
  const written = cells.filter((text) => text !== '')
  const day = written.find((text) => !CLOCK_ALONE.test(text))
  const clock = written.find((text) => CLOCK_ALONE.test(text))
  if (day === undefined) return clock ?? ''
  return clock === undefined || /\d:\d/.test(day) ? day : `${day} ${clock.replace('.', ':')}`
}

/** Tags of one cell. */
export const splitTags = (text: string): readonly string[] =>
  text.split(/[,;|#\n•·]+/).map((tag) => tag.trim())

/** What names the bet of a leg. */
const LEG_NAMES = ['selection', 'event', 'home'] as const

export function rowCells(columns: TrackerColumns, record: readonly string[]): TrackerCells {
  const cellsIn = (named: NamedColumns, name: string): readonly string[] =>
    (named.get(name) ?? []).map((column) => record[column] ?? '')
  const reader = (named: NamedColumns) => (field: TrackerField) => {
    const cells = cellsIn(named, field)
    return field === 'date' || field === 'placed' ? momentIn(cells) : (cells[0] ?? '')
  }
  return {
    cell: reader(columns.named),
    hints: (hint) => cellsIn(columns.named, hint),
    others: columns.others.map((column) => record[column] ?? ''),
    legs: columns.legs.map(reader).filter((cell) => LEG_NAMES.some((field) => cell(field) !== '')),
  }
}

/** `Avg. odds matched` is `avgoddsmatched`, `Stake (£)` `stake`. */
const spelling = (header: string): string =>
  withoutAccents(header)
    .replaceAll('#', 'no')
    .replace(/\((?:gbp|eur|usd|aud|units?)\)/g, '')
    .replace(/[^\p{L}\p{N}]/gu, '')

const FIELD_SPELLED = new Map(
  Object.entries(spelled.fields).flatMap(([field, words]) =>
    words.split(' ').map((word) => [word, field] as const),
  ),
)

/** Columns that say nothing of a bet's kind. */
const SILENT = new Set(spelled.silent.split(' '))
/** Fields of one column; a second one is something else. */
const IN_ONE_COLUMN = new Set(
  Object.keys(spelled.fields).filter((field) => !/^(?:date|placed)$/.test(field)),
)
/** A second column that names the market or the selection; beside a selection an outcome is the result. */
const isOfTheBet = (text: string): boolean =>
  ['market', 'selection'].includes(FIELD_SPELLED.get(text) ?? '') && text !== 'outcome'
/** `couponref`, `ordernumber`: an id of bets, as far as no list has it. */
const ID =
  /^(?:sports)?(?:book)?(?:bet|wager|ticket|slip|betslip|coupon|receipt|transaction|order|parlay|multi|acca|group)(?:id|no|num|number|ref|reference|code|key|uuid)+$/
const LINES = new Set(['line', 'handicap', 'hcp'])
/** What stood when a bet was placed, as far as no list has it: `Live Odds`. */
const OF_PLAY = /^(?:live|inplay|inrunning)|(?:live|inplay|inrunning)$/

/** `leg1`, `leg1odds`, `odds2`, `selectionleg3`. */
const NUMBERED = /^(?:leg(\d{1,2})(\D*)|(\D+?)(?:leg)?(\d{1,2}))$/

/** The columns of numbered legs; none if fewer than two are named. */
function numberedLegs(spellings: readonly string[]): TrackerColumns['legs'] {
  const legs = new Map<number, Map<string, readonly number[]>>()
  for (const [column, text] of spellings.entries()) {
    const [, before, whole = '', word = whole, behind] = NUMBERED.exec(text) ?? []
    const field = /^(?:leg)?$/.test(word) ? 'selection' : FIELD_SPELLED.get(word)
    const number = Number(before ?? behind)
    if (FIELD_SPELLED.has(text) || field === undefined || !(number >= 1)) continue
    legs.set(number, (legs.get(number) ?? new Map()).set(field, [column]))
  }
  const named = [...legs.values()].filter((leg) => LEG_NAMES.some((field) => leg.has(field)))
  return named.length > 1 ? named : []
}

/** Reads a header; undefined if it is not a tracker's. */
export function findTrackerColumns(header: readonly string[]): TrackerColumns | undefined {
  const spellings = header.map(spelling)
  const columnsNamed = (words: string): readonly number[] =>
    words.split(' ').flatMap((word) => {
      const column = spellings.indexOf(word)
      return column === -1 ? [] : [column]
    })
  const named = new Map<string, readonly number[]>()
  for (const [name, words] of Object.entries({ ...spelled.fields, ...spelled.hints })) {
    const columns = columnsNamed(words)
    if (columns.length > 0) named.set(name, columns)
  }
  // One log writes its American price under "line"; a file of parlays has their total only.
  for (const field of ['totalOdds', 'line']) {
    const columns = named.get(field)
    if (named.has('odds') || columns === undefined) continue
    named.set('odds', columns)
    named.delete(field)
  }
  const legs = numberedLegs(spellings)
  const isOfBets =
    named.has('event') || named.has('selection') || (named.has('home') && named.has('away'))
  if (!named.has('odds') || !(isOfBets || legs.length > 0)) return undefined
  const known = new Set(legs.flatMap((leg) => [...leg.values()].flat()))
  for (const [name, columns] of named)
    for (const column of IN_ONE_COLUMN.has(name) ? columns.slice(0, 1) : columns) known.add(column)
  const unknown = [...spellings.keys()].filter((column) => !known.has(column))
  const add = (name: TrackerHint, among: Iterable<number>, isNamed: (text: string) => boolean) => {
    const columns = [...among].filter((column) => isNamed(spellings[column] ?? ''))
    named.set(name, [...(named.get(name) ?? []), ...columns])
    for (const column of columns) known.add(column)
  }
  add('timing', unknown, (text) => OF_PLAY.test(text))
  add('again', unknown, isOfTheBet)
  add('lines', unknown, (text) => LINES.has(text))
  add('ids', spellings.keys(), (text) => ID.test(text))
  const isOther = (column: number): boolean =>
    !known.has(column) && !SILENT.has(spellings[column] ?? '')
  return {
    named,
    legs,
    others: [...spellings.keys()].filter(isOther),
    notation: notationOfHeader(header[named.get('odds')?.[0] ?? -1] ?? ''),
  }
}
