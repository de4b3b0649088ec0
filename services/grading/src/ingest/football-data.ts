/**
 * football-data.co.uk CSV into observations: early and closing prices of 1X2, over/under 2.5 and the Asian handicap, and
 * results. Reads the site's own files (main and extra leagues) and the tidy one-table form in which its seasons
 * circulate. Pure: bytes in, observations out.
 */

import { isoDay, isoSeconds } from '@tallystick/service-kit/clock'
import type { EventInfo } from '../domain/closes/event-state.ts'
import type { EntryPrices } from '../domain/closes/ledger-entry.ts'
import type { Normalised, Observation } from '../domain/closes/observation.ts'
import type { FeedInfo } from '../domain/closes/price-log.ts'
import { ownValue } from '../domain/markets/markets.ts'
import { acceptBook, newReading, privateFeed, type Reading, readPrice } from './accept-price.ts'
import { type CsvRow, csvTable, readHeader } from './csv-rows.ts'
import { eventSlug } from './event-ids.ts'
import { type FootballColumns, findColumns, SYNTHETIC_BOOKS } from './football-columns.ts'
import { londonSeconds } from './london-time.ts'

/** Anyone may download the site's prices; nobody may redistribute them. */
const FOOTBALL_DATA_FEED = privateFeed('football-data')

/** Goals; a handicap of so many, or more, is a typing error. */
const HANDICAP_MAX = 20

const readLine = (text: string | undefined): number | undefined => {
  if (text === undefined || text.trim() === '') return undefined
  const line = Number(text)
  return Number.isInteger(line * 4) && Math.abs(line) < HANDICAP_MAX ? line : undefined
}

/** One book's prices of one market; a market without any price is left out. */
function takeMarket(
  reading: Reading,
  options: {
    readonly row: CsvRow
    readonly columns: Readonly<Record<string, number>>
    readonly market: string
    readonly book: string
    readonly place: string
  },
): readonly EntryPrices[] {
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
  if (priced === 0) return []
  reading.missingPrices += missing
  return acceptBook(reading, { book, market, odds }, place)
}

function takeStage(
  reading: Reading,
  row: CsvRow,
  { stage, place }: { readonly stage: FootballColumns['early']; readonly place: string },
): readonly EntryPrices[] {
  const line = readLine(row[stage.handicapLine])
  const prices: EntryPrices[] = []
  for (const { book, matchOdds, total, handicap } of stage.books) {
    const take = (market: string, columns: Readonly<Record<string, number>>): void => {
      prices.push(...takeMarket(reading, { row, columns, market, book, place }))
    }
    take('1x2/ft', matchOdds)
    take('total/ft/2.5', total)
    if (line !== undefined) take(`ah/ft/${line}`, handicap)
  }
  return prices
}

const GOALS = /^\d{1,2}$/

function readScore(
  row: CsvRow,
  columns: { readonly home: number; readonly away: number },
): { readonly home: number; readonly away: number } | undefined {
  const [home, away] = [row[columns.home]?.trim() ?? '', row[columns.away]?.trim() ?? '']
  return GOALS.test(home) && GOALS.test(away)
    ? { away: Number(away), home: Number(home) }
    : undefined
}

const SIDE_WON: Readonly<Record<string, number>> = { H: 1, D: 0, A: -1 }

/**
 * The word that stands in place of a result, such as `P` or `Abd`. The site has no fixed words for a match that was postponed,
 * abandoned or cancelled, so any word counts.
 */
function notPlayed(row: CsvRow, { fullTime, result }: FootballColumns): string | undefined {
  const cell = (column: number): string => row[column]?.trim() ?? ''
  const goals = [cell(fullTime.home), cell(fullTime.away)]
  const side = cell(result)
  const words = [
    ...goals.filter((text) => !GOALS.test(text)),
    ...(ownValue(SIDE_WON, side.toUpperCase()) === undefined ? [side] : []),
  ]
  return words.find((word) => word !== '')
}

/** The full-time score, or a sentence that says why the winner's column contradicts it. */
function fullScore(row: CsvRow, { fullTime, result }: FootballColumns) {
  const score = readScore(row, fullTime)
  const won = ownValue(SIDE_WON, row[result]?.trim().toUpperCase() ?? '')
  if (score === undefined || won === undefined) return score
  return Math.sign(score.home - score.away) === won
    ? score
    : `the result ${row[result]} contradicts the score ${score.home}-${score.away}`
}

function readOutcomes(
  reading: Reading,
  row: CsvRow,
  { columns, place }: { readonly columns: FootballColumns; readonly place: string },
): Observation['outcomes'] {
  const full = fullScore(row, columns)
  if (typeof full === 'string') {
    reading.refusals.push({ reason: 'malformed_row', place, detail: full })
    return []
  }
  const half = readScore(row, columns.halfTime)
  return [
    ...(full === undefined ? [] : [{ period: 'ft', status: 'final' as const, score: full }]),
    ...(half === undefined ? [] : [{ period: 'h1', status: 'final' as const, score: half }]),
  ]
}

function readMatch(
  reading: Reading,
  row: CsvRow,
  options: { event: EventInfo; columns: FootballColumns; place: string },
) {
  const { columns, event, place } = options
  const instead = notPlayed(row, columns)
  if (instead !== undefined) {
    const detail = `${instead} in place of a result: neither closes nor a result are taken`
    reading.refusals.push({ reason: 'not_played', place, detail })
    return
  }
  reading.observations.push({
    event,
    rule: 'source_declared',
    snapshots: takeStage(reading, row, { stage: columns.early, place }),
    closes: takeStage(reading, row, { stage: columns.closing, place }),
    closeStatus: 'final',
    outcomes: readOutcomes(reading, row, options),
  })
}

/** Whether a text begins like one of the site's files. */
export const isFootballData = (raw: Uint8Array): boolean =>
  findColumns(readHeader(raw)) !== undefined

/**
 * Reads a file's bytes slice by slice, so that a table of a hundred thousand matches needs little memory and an import
 * can report progress. Unreadable rows are refused one by one; a file with an unknown header is refused as a whole.
 */
export function* readFootballData(
  raw: Uint8Array,
  feed: FeedInfo = FOOTBALL_DATA_FEED,
): Generator<Normalised> {
  const bookNames = feed.isSynthetic ? SYNTHETIC_BOOKS : {}
  const ignored = new Set<string>()
  let columns: FootballColumns | undefined
  for (const { header, rows } of csvTable(raw)) {
    const reading = newReading()
    columns ??= findColumns(header, bookNames)
    if (columns === undefined) {
      const detail =
        'a football-data.co.uk header was expected: Date, HomeTeam, AwayTeam, FTHG, FTAG, …'
      reading.refusals.push({ reason: 'malformed_row', place: 'line 1', detail })
      yield { feed, ...reading }
      return
    }
    for (const name of columns.ignored) ignored.add(name)
    for (const [line, row] of rows) {
      const event = row && footballEvent(row, columns)
      if (row !== undefined && event !== undefined) {
        readMatch(reading, row, { event, columns, place: `line ${line}` })
        continue
      }
      if (row?.every((cell) => cell.trim() === '') === true) continue
      // Seasons that were put into one file: the columns below are those of this header.
      if (row?.includes('HomeTeam') === true || row?.includes('Date') === true) {
        columns = findColumns(row, bookNames) ?? columns
        for (const name of columns.ignored) ignored.add(name)
        continue
      }
      const expected = row ? 'a date and two teams were' : 'a row without an open quote was'
      const detail = `${expected} expected`
      reading.refusals.push({ reason: 'malformed_row', place: `line ${line}`, detail })
    }
    yield { feed, ...reading, ignoredColumns: [...ignored] }
  }
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

function readStart(
  day: number,
  time: string,
): Pick<EventInfo, 'startAtSeconds' | 'startPrecision'> {
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
  // Members stand in alphabetical order, as in prices: the ledger then writes them without sorting.
  return {
    away,
    home,
    league,
    path: `soccer/${id}`,
    sport: 'soccer',
    ...readStart(day, cell(columns.time)),
  }
}
