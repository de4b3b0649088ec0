/**
 * Two tables of American closing lines as they circulate: MLB 2014–2019 (opening and closing moneylines, run line, total)
 * and NFL since 2000 (nflverse: closing moneyline, spread, total). Pure: bytes in, observations out.
 */
import { parseOdds } from '@tallystick/odds'
import { DAY_SECONDS, isoSeconds } from '@tallystick/service-kit/clock'
import type { EventInfo } from '../domain/closes/event-state.ts'
import type { EntryPrices } from '../domain/closes/ledger-entry.ts'
import type { Normalised, Observation } from '../domain/closes/observation.ts'
import type { FeedInfo } from '../domain/closes/price-log.ts'
import { lineText, ownValue } from '../domain/markets/markets.ts'
import { fullTeamName } from '../domain/markets/team-names.ts'
import { acceptBook, newReading, privateFeed, type Reading } from './accept-price.ts'
import { cellReader, csvTable, readHeader } from './csv-rows.ts'
import { eventSlug } from './event-ids.ts'

type Cells = (name: string) => string

type UsTable = {
  readonly feed: FeedInfo
  /** Columns that no other table has. */
  readonly marks: readonly string[]
  readonly sport: string
  readonly league: string
  readonly readDay: (cell: Cells) => number | undefined
  readonly readTeams: (cell: Cells) => { readonly home: string; readonly away: string }
  readonly readPrices: (cell: Cells) => {
    readonly opening: readonly MarketPrices[]
    readonly closing: readonly MarketPrices[]
  }
}

/** A market's American prices as the table has them. */
type MarketPrices = {
  readonly market: string | undefined
  readonly odds: Readonly<Record<string, string>>
}

/** Teams that have moved since: nflverse has an abbreviation for each of their cities. */
const MOVED_TEAMS: Readonly<Record<string, string>> = {
  OAK: 'Oakland Raiders',
  SD: 'San Diego Chargers',
  STL: 'St. Louis Rams',
}

const nflTeam = (abbreviation: string): string =>
  ownValue(MOVED_TEAMS, abbreviation) ?? fullTeamName('american_football', abbreviation) ?? ''

/** A line as markets are filed under it; undefined for a blank or an odd one. */
function readLine(text: string, sign: 1 | -1 = 1): string | undefined {
  const line = Number(text) * sign
  return text !== '' && Number.isInteger(line * 4) ? lineText(line) : undefined
}

const at = (family: string, line: string | undefined): string | undefined =>
  line === undefined ? undefined : `${family}/ft/${line}`

/** The run line, unless the two sides disagree about it. */
function runLine(cell: Cells): string | undefined {
  const [home, away] = [readLine(cell('home_run_line')), readLine(cell('away_run_line'), -1)]
  return home === away ? home : undefined
}

const TABLES: readonly UsTable[] = [
  {
    feed: privateFeed('mlb-open-close'),
    marks: ['home_close_ml', 'away_close_ml', 'close_ou_line', 'home_name'],
    sport: 'baseball',
    league: 'MLB',
    // Days since 1970, as a spreadsheet's number.
    readDay: (cell) =>
      /^\d{5}(?:\.0)?$/.test(cell('date')) ? Number(cell('date')) * DAY_SECONDS : undefined,
    readTeams: (cell) => ({ home: cell('home_name'), away: cell('away_name') }),
    readPrices: (cell) => ({
      opening: [
        { market: 'ml/ft', odds: { home: cell('home_open_ml'), away: cell('away_open_ml') } },
      ],
      closing: [
        { market: 'ml/ft', odds: { home: cell('home_close_ml'), away: cell('away_close_ml') } },
        {
          market: at('spread', runLine(cell)),
          odds: { home: cell('home_run_line_odds'), away: cell('away_run_line_odds') },
        },
        // The table has one price per total and does not say whose: its results show under's (reference-study.test.ts).
        {
          market: at('total', readLine(cell('close_ou_line'))),
          odds: { under: cell('close_ou_odds') },
        },
      ],
    }),
  },
  {
    feed: privateFeed('nflverse'),
    marks: ['gameday', 'spread_line', 'total_line', 'home_spread_odds'],
    sport: 'american_football',
    league: 'NFL',
    readDay: (cell) => isoSeconds(cell('gameday')),
    readTeams: (cell) => ({ home: nflTeam(cell('home')), away: nflTeam(cell('away')) }),
    readPrices: (cell) => ({
      opening: [],
      closing: [
        { market: 'ml/ft', odds: { home: cell('home_ml'), away: cell('away_ml') } },
        {
          // The table's line is how many points the home team gives.
          market: at('spread', readLine(cell('spread_line'), -1)),
          odds: { home: cell('home_spread_odds'), away: cell('away_spread_odds') },
        },
        {
          market: at('total', readLine(cell('total_line'))),
          odds: { over: cell('over_odds'), under: cell('under_odds') },
        },
      ],
    }),
  },
]

const tableWith = (header: readonly string[]): UsTable | undefined =>
  TABLES.find(({ marks }) => marks.every((name) => header.includes(name)))

/** Whether a text begins like one of the tables. */
export const isUsTable = (raw: Uint8Array): boolean => tableWith(readHeader(raw)) !== undefined

/** American odds as the ledger takes them; a table writes 100 for +100 and `.0` after each. */
function decimalText(text: string): string | undefined {
  const odds = parseOdds(/^\d/.test(text) ? `+${text}` : text)
  return odds.kind === 'odds' ? String(odds.decimal) : undefined
}

function takePrices(
  reading: Reading,
  markets: readonly MarketPrices[],
  { book, place }: { readonly book: string; readonly place: string },
): readonly EntryPrices[] {
  return markets.flatMap(({ market, odds: written }) => {
    const odds: Record<string, string> = {}
    for (const [selection, text] of Object.entries(written)) {
      const price = decimalText(text)
      if (price === undefined) reading.missingPrices += 1
      else odds[selection] = price
    }
    if (market === undefined || Object.keys(odds).length === 0) return []
    return acceptBook(reading, { market, book, odds }, place)
  })
}

const POINTS = /^\d{1,3}(?:\.0)?$/

function readOutcomes(cell: Cells): Observation['outcomes'] {
  const [home, away] = [cell('home_score'), cell('away_score')]
  return POINTS.test(home) && POINTS.test(away)
    ? [{ period: 'ft', status: 'final', score: { home: Number(home), away: Number(away) } }]
    : []
}

/** The match of a row; the second of a day's two gets a number. */
function readEvent(table: UsTable, cell: Cells, met: Map<string, number>): EventInfo | undefined {
  const { league, sport } = table
  const daySeconds = table.readDay(cell)
  const { home, away } = table.readTeams(cell)
  if (daySeconds === undefined || home === '' || away === '') return undefined
  const id = eventSlug({ league, daySeconds, home, away })
  const game = (met.get(id) ?? 0) + 1
  met.set(id, game)
  const path = `${sport}/${id}${game === 1 ? '' : `.${game}`}`
  return { path, sport, league, home, away, startAtSeconds: daySeconds, startPrecision: 'day' }
}

/** Reads a table, slice by slice. A row without a day or two known teams is refused alone. */
export function* readUsTable(raw: Uint8Array): Generator<Normalised> {
  const met = new Map<string, number>()
  for (const { header, rows } of csvTable(raw)) {
    const table = tableWith(header)
    if (table === undefined) return
    const { feed } = table
    const reading = newReading()
    for (const [line, row] of rows) {
      const cell = cellReader(header, row)
      const place = `line ${line}`
      const event = row === undefined ? undefined : readEvent(table, cell, met)
      if (event === undefined) {
        const detail = 'a day and two known teams were expected'
        reading.refusals.push({ reason: 'malformed_row', place, detail })
        continue
      }
      const { opening, closing } = table.readPrices(cell)
      const where = { book: feed.feed.replaceAll('-', '_'), place }
      reading.observations.push({
        event,
        rule: 'source_declared',
        snapshots: takePrices(reading, opening, where),
        closes: takePrices(reading, closing, where),
        closeStatus: 'final',
        outcomes: readOutcomes(cell),
      })
    }
    yield { feed, ...reading }
  }
}
