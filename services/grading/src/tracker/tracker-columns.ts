/**
 * Finds each field's column in a tracker's file by its header. The spellings are those of the common exports;
 * docs/how-to/audit-a-tracker-file.md says where each was seen.
 */
import { withoutAccents } from '../domain/team-names.ts'
import type { OddsNotation } from '../wire/requests.ts'
import spelled from './tracker-columns.json' with { type: 'json' }
import { notationOfHeader } from './tracker-odds.ts'

/** Spellings without spaces, dashes and case, better ones first. Of `hints` a file may have several; `silent` ones say nothing of a bet's kind. */
const { fields: SPELLINGS, hints: HINT_SPELLINGS } = spelled

type TrackerHint = keyof typeof HINT_SPELLINGS | 'again' | 'lines' | 'placed'

const SILENT = new Set(spelled.silent.split(' '))

export type TrackerField = keyof typeof SPELLINGS

export type TrackerColumns = {
  /** Column numbers from 0, of the fields that the file has. */
  readonly of: ReadonlyMap<TrackerField, number>
  /** Of a day and a clock in columns of their own: all of the field's columns, better ones first. */
  readonly times: ReadonlyMap<'date' | 'placed', readonly number[]>
  /** Of the columns that say what kind of bet a row is. */
  readonly hints: ReadonlyMap<TrackerHint, readonly number[]>
  /** Of `Leg 1`, `Leg 1 Odds`, `Leg 2` …: each leg's columns. */
  readonly legs: readonly ReadonlyMap<TrackerField, number>[]
  /** Columns that no list knows: a whole cell may still name a kind. */
  readonly others: readonly number[]
  /** What the header says of its odds: `Odds (US)` is American. */
  readonly notation: OddsNotation | undefined
}

/** A row by what its columns mean. */
export type TrackerCells = {
  readonly cell: (field: TrackerField) => string
  /** The cells of all columns that say such a thing. */
  readonly hints: (hint: TrackerHint) => readonly string[]
  readonly others: readonly string[]
  /** The legs that have columns of their own. */
  readonly legs: readonly TrackerCells['cell'][]
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

export function cellsOf(columns: TrackerColumns, record: readonly string[]): TrackerCells {
  const at = (column: number | undefined): string => record[column ?? -1] ?? ''
  return {
    cell: (field) =>
      field === 'date' || field === 'placed'
        ? momentIn((columns.times.get(field) ?? []).map(at))
        : at(columns.of.get(field)),
    hints: (hint) => (columns.hints.get(hint) ?? []).map(at),
    others: columns.others.map(at),
    legs: columns.legs
      .map((leg) => (field: TrackerField) => at(leg.get(field)))
      .filter((cell) => LEG_NAMES.some((field) => cell(field) !== '')),
  }
}

/** What names the bet of a leg. */
const LEG_NAMES = ['selection', 'event', 'home'] as const

/** `Avg. odds matched` is `avgoddsmatched`, `Stake (£)` `stake`. */
const spelling = (header: string): string =>
  withoutAccents(header)
    .replaceAll('#', 'no')
    .replace(/\((?:gbp|eur|usd|aud|units?)\)/g, '')
    .replace(/[^\p{L}\p{N}]/gu, '')

/** What a file must say about each bet, in one column or another. */
function isTracker({ legs, of }: Pick<TrackerColumns, 'legs' | 'of'>): boolean {
  const isNamed = of.has('event') || (of.has('home') && of.has('away')) || of.has('selection')
  return of.has('odds') && (isNamed || legs.length > 0)
}

/** Columns by what the spelling of their header means, better spellings first. */
const columnsNamed = (words: string, spellings: readonly string[]): readonly number[] =>
  words.split(' ').flatMap((word) => {
    const column = spellings.indexOf(word)
    return column === -1 ? [] : [column]
  })

/** `couponref`, `ordernumber`: an id of bets, as far as no list has it. */
const ID =
  /^(?:sports)?(?:book)?(?:bet|wager|ticket|slip|betslip|coupon|receipt|transaction|order|parlay|multi|acca|group)(?:id|no|num|number|ref|reference|code|key|uuid)+$/

const FIELD_SPELLED = new Map(
  Object.entries(SPELLINGS).flatMap(([field, words]) =>
    words.split(' ').map((word) => [word, field as TrackerField] as const),
  ),
)
/** A second column that names the market or the selection; beside a selection an outcome is the result. */
const OF_THE_BET = new Set(
  [SPELLINGS.market, SPELLINGS.selection]
    .flatMap((words) => words.split(' '))
    .filter((word) => word !== 'outcome'),
)
const LINES = new Set(['line', 'handicap', 'hcp'])
const OF_PLAY = /^(?:live|inplay|inrunning)|(?:live|inplay|inrunning)$/

/** `leg1`, `leg1odds`, `odds2`, `selectionleg3`. */
const NUMBERED = /^(?:leg(\d{1,2})(\D*)|(\D+?)(?:leg)?(\d{1,2}))$/

/** The columns of numbered legs; none if fewer than two are named. */
function numberedLegs(spellings: readonly string[]): TrackerColumns['legs'] {
  const legs = new Map<number, Map<TrackerField, number>>()
  for (const [column, text] of spellings.entries()) {
    const [, ofLeg, whole = '', word = whole, of] = NUMBERED.exec(text) ?? []
    const field = /^(?:leg)?$/.test(word) ? 'selection' : FIELD_SPELLED.get(word)
    const number = Number(ofLeg ?? of)
    if (FIELD_SPELLED.has(text) || field === undefined || !(number >= 1)) continue
    legs.set(number, (legs.get(number) ?? new Map()).set(field, column))
  }
  const named = [...legs.values()].filter((leg) => LEG_NAMES.some((field) => leg.has(field)))
  return named.length > 1 ? named : []
}

/** Reads a header; undefined if it is not a tracker's. */
export function findTrackerColumns(header: readonly string[]): TrackerColumns | undefined {
  const spellings = header.map(spelling)
  const of = new Map<TrackerField, number>()
  for (const [field, words] of Object.entries(SPELLINGS)) {
    const [column] = columnsNamed(words, spellings)
    if (column !== undefined) of.set(field as TrackerField, column)
  }
  // One log writes its American price under "line"; a file of parlays has their total only.
  for (const field of ['totalOdds', 'line'] as const) {
    const column = of.get(field)
    if (of.has('odds') || column === undefined) continue
    of.set('odds', column)
    of.delete(field)
  }
  const legs = numberedLegs(spellings)
  if (!isTracker({ legs, of })) return undefined
  const hints = new Map<TrackerHint, readonly number[]>(
    Object.entries(HINT_SPELLINGS).map(([hint, words]) => [
      hint as TrackerHint,
      columnsNamed(words, spellings),
    ]),
  )
  const isKnown = (column: number): boolean =>
    [...of.values(), ...[...hints.values()].flat()].includes(column)
  const besides = (isBeside: (text: string) => boolean): readonly number[] =>
    spellings.flatMap((text, column) => (!isKnown(column) && isBeside(text) ? [column] : []))
  // What stood when a bet was placed, as far as no list has it: `Live Odds`.
  hints.set('timing', [...(hints.get('timing') ?? []), ...besides((text) => OF_PLAY.test(text))])
  hints.set(
    'again',
    besides((text) => OF_THE_BET.has(text)),
  )
  hints.set(
    'lines',
    besides((text) => LINES.has(text)),
  )
  hints.set('placed', columnsNamed(SPELLINGS.placed, spellings))
  hints.set('ids', [
    ...(hints.get('ids') ?? []),
    ...spellings.flatMap((text, column) => (ID.test(text) ? [column] : [])),
  ])
  const times = new Map(
    (['date', 'placed'] as const).map((field) => [
      field,
      columnsNamed(SPELLINGS[field], spellings),
    ]),
  )
  const ofLegs = legs.flatMap((leg) => [...leg.values()])
  const known = new Set([
    ...of.values(),
    ...ofLegs,
    ...[...hints.values(), ...times.values()].flat(),
  ])
  const others = header.flatMap((_name, column) =>
    known.has(column) || SILENT.has(spellings[column] ?? '') ? [] : [column],
  )
  return {
    of,
    times,
    hints,
    legs,
    others,
    notation: notationOfHeader(header[of.get('odds') ?? -1] ?? ''),
  }
}
