/**
 * football-data.co.uk CSV into observations: early and closing prices of 1X2, over/under 2.5 and the Asian handicap, and
 * results. Reads the site's own files (main and extra leagues) and the tidy one-table form in which its seasons
 * circulate. Pure: bytes in, observations out.
 */
import type { EventInfo, FeedInfo } from '../domain/event-state.ts'
import type { EntryPrices } from '../domain/ledger-entry.ts'
import type { Normalised, Observation, Refusal } from '../domain/observation.ts'
import { isoDay, isoSeconds } from '../wire/times.ts'
import { readPrice, refuseBook } from './accept-price.ts'
import { type CsvRow, csvRows, csvSlices, fileBytes, headerOf } from './csv-rows.ts'
import { eventSlug } from './event-ids.ts'
import {
  type FootballColumns,
  type FoundColumns,
  findColumns,
  SYNTHETIC_BOOKS,
} from './football-columns.ts'
import { londonSeconds } from './london-time.ts'

/** Anyone may download the site's prices; nobody may redistribute them. */
const FOOTBALL_DATA_FEED: FeedInfo = {
  feed: 'football-data',
  isRedistributable: false,
  isSynthetic: false,
}

type Taken = { prices: EntryPrices[]; missing: number; refusals: Refusal[] }

/** Goals; a larger handicap is a typing error. */
const HANDICAP_MAX = 20

const lineOf = (text: string | undefined): number | undefined => {
  if (text === undefined || text.trim() === '') return undefined
  const line = Number(text)
  return Number.isInteger(line * 4) && Math.abs(line) < HANDICAP_MAX ? line : undefined
}

/** Adds one book's prices of one market to the row's result; a market without any price is left out. */
function takeMarket(
  taken: Taken,
  options: {
    readonly row: CsvRow
    readonly columns: Readonly<Record<string, number>>
    readonly market: string
    readonly book: string
    readonly place: string
  },
): void {
  const { row, columns, market, book, place } = options
  const odds: Record<string, string> = {}
  let [priced, missing] = [0, 0]
  for (const selection in columns) {
    const price = readPrice(row[columns[selection] ?? -1])
    if (price === undefined) missing += 1
    else {
      odds[selection] = price
      priced += 1
    }
  }
  if (priced === 0) return
  taken.missing += missing
  const refusal = refuseBook({ market, odds, place })
  if (refusal === undefined) taken.prices.push({ book, market, odds })
  else taken.refusals.push(refusal)
}

function takeStage(
  row: CsvRow,
  { stage, place }: { readonly stage: FootballColumns['early']; readonly place: string },
): Taken {
  const taken: Taken = { prices: [], missing: 0, refusals: [] }
  const line = lineOf(row[stage.handicapLine])
  for (const { book, matchOdds, total, handicap } of stage.books) {
    takeMarket(taken, { row, columns: matchOdds, market: '1x2/ft', book, place })
    takeMarket(taken, { row, columns: total, market: 'total/ft/2.5', book, place })
    if (line === undefined) continue
    const market = `ah/ft/${line === 0 ? 0 : line}`
    takeMarket(taken, { row, columns: handicap, market, book, place })
  }
  return taken
}

const GOALS = /^\d{1,2}$/

function scoreOf(
  row: CsvRow,
  columns: { readonly home: number; readonly away: number },
): { readonly home: number; readonly away: number } | undefined {
  const [home, away] = [row[columns.home]?.trim() ?? '', row[columns.away]?.trim() ?? '']
  return GOALS.test(home) && GOALS.test(away)
    ? { home: Number(home), away: Number(away) }
    : undefined
}

function outcomesOf(row: CsvRow, columns: FootballColumns): Observation['outcomes'] {
  const full = scoreOf(row, columns.fullTime)
  const half = columns.halfTime === undefined ? undefined : scoreOf(row, columns.halfTime)
  return [
    ...(full === undefined ? [] : [{ period: 'ft', status: 'final' as const, score: full }]),
    ...(half === undefined ? [] : [{ period: 'h1', status: 'final' as const, score: half }]),
  ]
}

/** The running result of reading rows. */
type Reading = { observations: Observation[]; refusals: Refusal[]; missingPrices: number }

function readRow(
  reading: Reading,
  row: CsvRow | undefined,
  options: { columns: FootballColumns; place: string },
) {
  const { columns, place } = options
  const event = row === undefined ? undefined : footballEvent(row, columns)
  if (row === undefined || event === undefined) {
    const expected =
      row === undefined ? 'a row without an open quote was' : 'a date and two teams were'
    reading.refusals.push({ reason: 'malformed_row', place, detail: `${expected} expected` })
    return
  }
  const early = takeStage(row, { stage: columns.early, place })
  const closing = takeStage(row, { stage: columns.closing, place })
  reading.missingPrices += early.missing + closing.missing
  reading.refusals.push(...early.refusals, ...closing.refusals)
  reading.observations.push({
    event,
    rule: 'source_declared',
    snapshots: early.prices,
    closes: closing.prices,
    closeStatus: 'final',
    outcomes: outcomesOf(row, columns),
  })
}

/** Whether a text begins like one of the site's files. */
export const isFootballData = (raw: Uint8Array): boolean =>
  findColumns(headerOf(raw)).kind === 'columns'

/**
 * Reads a file's bytes slice by slice, so that a table of a hundred thousand matches needs little memory and an import
 * can report progress. Unreadable rows are refused one by one; a file with an unknown header is refused as a whole.
 */
export function* readFootballData(
  raw: Uint8Array,
  feed: FeedInfo = FOOTBALL_DATA_FEED,
): Generator<Normalised> {
  let columns: FoundColumns | undefined
  let line = 1
  for (const slice of csvSlices(fileBytes(raw))) {
    const reading: Reading = { observations: [], refusals: [], missingPrices: 0 }
    const all = csvRows(slice)
    const header = columns === undefined ? all[0] : undefined
    const rows = columns === undefined ? all.slice(1) : all
    columns ??= findColumns(header ?? [], feed.isSynthetic ? SYNTHETIC_BOOKS : {})
    if (columns.kind === 'unknown') {
      reading.refusals.push({ reason: 'malformed_row', place: 'line 1', detail: columns.problem })
      yield { feed, ...reading }
      return
    }
    if (header !== undefined) line += 1
    for (const row of rows) {
      readRow(reading, row, { columns: columns.columns, place: `line ${line}` })
      line += 1
    }
    yield { feed, ...reading }
  }
}

/** A whole file at once. */
export function normaliseFootballData(
  raw: Uint8Array,
  feed: FeedInfo = FOOTBALL_DATA_FEED,
): Normalised {
  const whole: Reading = { observations: [], refusals: [], missingPrices: 0 }
  for (const slice of readFootballData(raw, feed)) {
    whole.observations.push(...slice.observations)
    whole.refusals.push(...slice.refusals)
    whole.missingPrices += slice.missingPrices
  }
  return { feed, ...whole }
}

const ISO_DAY = /^\d{4}-\d{2}-\d{2}$/
const BRITISH_DAY = /^(\d{2})\/(\d{2})\/(\d{2}|\d{4})$/

/** Two-digit years below this are in this century. */
const CENTURY_ENDS_AT = 70

function daySeconds(text: string): number | undefined {
  const british = BRITISH_DAY.exec(text)
  if (british === null) return ISO_DAY.test(text) ? isoSeconds(text) : undefined
  const [, day, month, short] = british
  const century = short?.length === 4 ? '' : Number(short) < CENTURY_ENDS_AT ? '20' : '19'
  return isoSeconds(`${century}${short}-${month}-${day}`)
}

function startOf(day: number, time: string): Pick<EventInfo, 'startAtSeconds' | 'startPrecision'> {
  const startAtSeconds = londonSeconds(isoDay(day), time)
  return startAtSeconds === undefined
    ? { startAtSeconds: day, startPrecision: 'day' }
    : { startAtSeconds, startPrecision: 'second' }
}

/** The event of a row; undefined without a date or a team. Only the day is known if the file has no times. */
function footballEvent(row: readonly string[], columns: FootballColumns): EventInfo | undefined {
  const cell = (column: number): string => row[column]?.trim() ?? ''
  const [date, home, away] = [cell(columns.date), cell(columns.home), cell(columns.away)]
  const day = daySeconds(date)
  if (day === undefined || home === '' || away === '') return undefined
  const league = [cell(columns.league), cell(columns.division)]
    .filter((part) => part !== '')
    .join(' ')
  const id = eventSlug({ league, daySeconds: day, home, away })
  // Here, as in prices, members are in the order of canonical JSON, which is written at once then.
  return {
    away,
    home,
    league,
    path: `soccer/${id}`,
    sport: 'soccer',
    ...startOf(day, cell(columns.time)),
  }
}
