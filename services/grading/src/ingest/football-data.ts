/**
 * football-data.co.uk CSV into observations: early and closing prices of 1X2, over/under 2.5 and the Asian handicap, and
 * results. Reads the site's own files (main leagues and extra leagues) and the tidy form in which its seasons are passed
 * around as one table. Pure: bytes in, observations out.
 */
import { CsvError, parse } from 'csv-parse/sync'
import type { FeedInfo } from '../domain/event-state.ts'
import type { Normalised, Observation, ObservedPrices, Refusal } from '../domain/observation.ts'
import { csvSlices } from './csv-slices.ts'
import {
  type FootballColumns,
  type FoundColumns,
  findColumns,
  SYNTHETIC_BOOKS,
} from './football-columns.ts'
import { footballEvent } from './football-event.ts'
import { readPrice } from './read-price.ts'
import { refuseBook } from './refuse-book.ts'

/** Where the site's rows come from; its prices may be downloaded by anybody and redistributed by nobody. */
export const FOOTBALL_DATA_FEED: FeedInfo = {
  feed: 'football-data',
  isRedistributable: false,
  isSynthetic: false,
}

/** What a row is read with. */
type Row = readonly string[]

type Taken = { prices: ObservedPrices[]; missing: number; refusals: Refusal[] }

/** Goals; a handicap beyond is a slip. */
const HANDICAP_MAX = 20

const lineOf = (text: string | undefined): number | undefined => {
  if (text === undefined || text.trim() === '') return undefined
  const line = Number(text)
  return Number.isInteger(line * 4) && Math.abs(line) < HANDICAP_MAX ? line : undefined
}

/** One book's prices of one market, into what was taken of the row; a market without any price is not there at all. */
function takeMarket(
  taken: Taken,
  options: {
    readonly row: Row
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
  if (refusal === undefined) taken.prices.push({ market, book, odds })
  else taken.refusals.push(refusal)
}

function takeStage(
  row: Row,
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
  row: Row,
  columns: { readonly home: number; readonly away: number },
): { readonly home: number; readonly away: number } | undefined {
  const [home, away] = [row[columns.home]?.trim() ?? '', row[columns.away]?.trim() ?? '']
  return GOALS.test(home) && GOALS.test(away)
    ? { home: Number(home), away: Number(away) }
    : undefined
}

function outcomesOf(row: Row, columns: FootballColumns): Observation['outcomes'] {
  const full = scoreOf(row, columns.fullTime)
  const half = columns.halfTime === undefined ? undefined : scoreOf(row, columns.halfTime)
  return [
    ...(full === undefined ? [] : [{ period: 'ft', status: 'final' as const, score: full }]),
    ...(half === undefined ? [] : [{ period: 'h1', status: 'final' as const, score: half }]),
  ]
}

/** What a reading of rows adds up to. */
type Reading = { observations: Observation[]; refusals: Refusal[]; missingPrices: number }

function readRow(
  reading: Reading,
  row: Row | undefined,
  options: { columns: FootballColumns; place: string },
) {
  const { columns, place } = options
  if (row === undefined) {
    const detail = 'a row without an open quote was expected'
    reading.refusals.push({ reason: 'malformed_row', place, detail })
    return
  }
  const event = footballEvent(row, columns)
  if (event === undefined) {
    const detail = 'a date and two teams were expected'
    reading.refusals.push({ reason: 'malformed_row', place, detail })
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

const withoutMark = (raw: Uint8Array): Buffer => {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes
}

/** Whether a text begins as one of the site's files does. */
export function isFootballData(raw: Uint8Array): boolean {
  const bytes = withoutMark(raw)
  const start = bytes.subarray(0, HEADER_BYTES_MAX)
  const end = start.indexOf(0x0a)
  const head = start.subarray(0, end === -1 ? start.length : end).toString('latin1')
  return findColumns(head.trim().split(',')).kind === 'columns'
}

/** A header is a few hundred bytes; what has no line in so many is another kind of file. */
const HEADER_BYTES_MAX = 65_536
/** A row is a few hundred bytes: a longer one is no row, and must not be held as one. */
const ROW_BYTES_MAX = 65_536
const NEWLINE = 0x0a

const CSV = {
  encoding: 'utf8',
  relax_column_count: true,
  skip_empty_lines: true,
  relax_quotes: true,
  max_record_size: ROW_BYTES_MAX,
} as const

/** Lines as bytes, without empty ones: a text of a whole slice could be longer than a text can be. */
function linesOf(slice: Buffer): readonly Buffer[] {
  const lines: Buffer[] = []
  for (let from = 0; from < slice.length; ) {
    const end = slice.indexOf(NEWLINE, from)
    const to = end === -1 ? slice.length : end
    const line = slice.subarray(from, to)
    if (line.length > 1) lines.push(line)
    from = to + 1
  }
  return lines
}

/** The rows of a slice; where its quotes cannot be read, those of every line that can, and `undefined` for each other line. */
function rowsOf(slice: Buffer): readonly (Row | undefined)[] {
  try {
    return parse(slice, CSV)
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
  }
  return linesOf(slice).map((line) => {
    if (line.length > ROW_BYTES_MAX) return undefined
    try {
      return parse(line, CSV)[0]
    } catch (error) {
      if (error instanceof CsvError) return undefined
      throw error
    }
  })
}

/**
 * Reads a file's bytes slice by slice, so that a table of a hundred thousand matches needs little memory and an import can
 * tell how far it is. Rows that cannot be read are refused one by one; a file whose header is none of ours as a whole.
 */
export function* readFootballData(
  raw: Uint8Array,
  feed: FeedInfo = FOOTBALL_DATA_FEED,
): Generator<Normalised> {
  let columns: FoundColumns | undefined
  let line = 1
  for (const slice of csvSlices(withoutMark(raw))) {
    const reading: Reading = { observations: [], refusals: [], missingPrices: 0 }
    const all = rowsOf(slice)
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
