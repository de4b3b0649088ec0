/**
 * A tracker's CSV export as picks of the API: one row, one pick, or what is missing in it. Pure: only the
 * ledger knows whether a match and its close are recorded.
 */
import type { OddsNotation, WirePick, WireSingle } from '../wire/requests.ts'
import { betKind, type KindDoubt, kindDoubt, marketName } from './bet-kind.ts'
import { isBrokenText, OTHER_ENCODING } from './decode-file.ts'
import {
  type Cell,
  findTrackerColumns,
  rowCells,
  type TrackerCells,
  type TrackerColumns,
} from './tracker-columns.ts'
import { type DayOrder, dayOrder, readTimes } from './tracker-dates.ts'
import { backedSide, isAwayFirst, leagueIn, readEvent, sportIn } from './tracker-events.ts'
import { createNameCheck, readRowBet } from './tracker-market.ts'
import {
  isShareExchange,
  NOTATION_LABELS,
  type OddsContext,
  type OddsReading,
  readOdds,
} from './tracker-odds.ts'
import { problem, question, type TrackerProblem } from './tracker-problem.ts'
import { isRace, readRace } from './tracker-race.ts'
import { readOwnRecord } from './tracker-record.ts'
import { HEADER_LINES_MAX, readRecords, separatorIn, TRACKER_ROWS_MAX } from './tracker-records.ts'
import {
  barProblem,
  gatherSlips,
  isParent,
  OWN_KEY,
  readParlay,
  type Slip,
} from './tracker-slips.ts'

export type TrackerRow = {
  /** Its place among the bets, from 0. */
  readonly index: number
  /** Line of the file, from 1. */
  readonly line: number
  /** The bet as the file has it, to recognise it by. */
  readonly written: string
  readonly bet: WirePick | TrackerProblem
}

type ReadTracker =
  | {
      readonly kind: 'tracker'
      /** Of each bet. */
      readonly lines: readonly number[]
      /** Each is read when it is asked for, since a thousand take longer than a request may. */
      readonly rows: Generator<TrackerRow>
    }
  | { readonly kind: 'unreadable'; readonly problem: string }

/** What the reader was asked about. */
export type TrackerChoices = {
  /** What unclear prices mean, such as a bare `110`. */
  readonly notation?: OddsNotation | undefined
  readonly order?: DayOrder | undefined
}

type Sheet = {
  readonly order: DayOrder | undefined
  /** How the file's prices are read, as far as a row does not say more. */
  readonly prices: Omit<OddsContext, 'named' | 'isShares'>
  readonly isName: ReturnType<typeof createNameCheck>
}

const unreadable = (why: string): ReadTracker => ({ kind: 'unreadable', problem: why })

/** A price of the row as the row, its header or the reader means it. */
const readPrice = (text: string, cell: Cell, { prices }: Sheet): OddsReading =>
  readOdds(text, { ...prices, named: cell('notation'), isShares: isShareExchange(cell('book')) })

/** The odds that were taken; a question if they may be two prices. */
function oddsIn(cell: Cell, sheet: Sheet): string | TrackerProblem {
  const read = readPrice(cell('odds'), cell, sheet)
  if (read.kind === 'odds') return read.odds
  const options = read.readings.map(({ notation }) => ({
    label: NOTATION_LABELS[notation],
    set: { odds_notation: notation },
  }))
  return question(
    'odds',
    'a clear notation: "+110" is American, "110.0" decimal, "54¢" a share',
    options,
  )
}

/** A bettor's yes to a price far from anything recorded (G21). */
const CONFIRMED = /^(?:y|yes|true|1|x)$/i

/** Members that say more about a pick, and never spoil it. */
const extrasIn = (cell: Cell, sheet: Sheet, hasLine: boolean) => ({
  ...readOwnRecord(cell, hasLine, (text) => readPrice(text, cell, sheet)),
  ref: cell('ref').replace(/\p{C}/gu, ' ').slice(0, 80) || undefined,
  confirmed: CONFIRMED.test(cell('confirmed')) || undefined,
})

/** A row as a pick of its own, whatever kind of bet it is. */
function readSingle(row: TrackerCells, sheet: Sheet): WireSingle | TrackerProblem {
  const { cell } = row
  if (cell('odds') === '') return problem('odds', 'the price that was taken')
  const when = readTimes(cell, sheet.order)
  if ('field' in when) return when
  const odds = oddsIn(cell, sheet)
  if (typeof odds !== 'string') return odds
  // Our own keys are taken as they are.
  const [market, selection] = [cell('market'), cell('selection')]
  const hasLine = market.split('/').length > 4
  if (OWN_KEY.test(market))
    return { market, selection, odds, ...when, ...extrasIn(cell, sheet, hasLine) }
  return isRace(cell)
    ? readRunner(row, { odds, when }, sheet)
    : readMatch(row, { odds, when }, sheet)
}

type Priced = {
  readonly odds: string
  readonly when: Exclude<ReturnType<typeof readTimes>, TrackerProblem>
}

function readRunner({ cell, hints }: TrackerCells, { odds, when }: Priced, sheet: Sheet) {
  const race = readRace(cell, sheet.order)
  if ('expected' in race) return race
  if (hints('deduction').some((text) => /[1-9]/.test(text)))
    return problem('odds', 'the price as it paid: withdrawn runners reduced it', 'unclear')
  // The start stands in the race's key.
  const { placed_at } = when
  return { ...race, odds, placed_at, ...extrasIn(cell, sheet, false) }
}

function readMatch(row: TrackerCells, { odds, when }: Priced, sheet: Sheet) {
  const { cell } = row
  const { event, isSided, selection, teams, ...written } = readEvent(cell)
  if (event === '') return problem('event', 'both teams, such as Arsenal v Chelsea')
  if (Object.values(when).every((time) => time === undefined))
    return problem('date', 'the day of the match, or when the bet was placed')
  const sport = sportIn(cell, teams)
  if (sport === undefined)
    return problem('sport', 'a sport or league such as soccer, EPL, NFL or MLB')
  const market = written.market ?? marketName(row)
  const own = { sport, market, selection, line: cell('line'), teams }
  const bet = readRowBet(row, own, sheet.isName)
  if ('expected' in bet) return bet
  const { beside, line, participant, period, type } = bet
  const isTurnable =
    !isSided &&
    isAwayFirst(sport) &&
    teams !== undefined &&
    (type === 'total' ||
      (participant === undefined && backedSide(sport, selection, teams) !== undefined))
  const pick = {
    market: { sport, event, type, period, participant },
    selection: bet.selection,
    line,
    odds,
    ...when,
    league: leagueIn(row) || undefined,
    either_order: isTurnable || undefined,
    ...extrasIn(cell, sheet, line !== undefined),
  }
  if (beside === undefined) return pick
  const expected = `one bet: “${beside}” beside it may make it another`
  return askWhether({ field: 'market', expected, label: 'it is the bet of its own columns' }, pick)
}

/** A question with one answer that makes the row a pick; what else it lacks comes first. */
const askWhether = (
  { expected, field, label }: KindDoubt,
  bet: WirePick | TrackerProblem,
): TrackerProblem => ('expected' in bet ? bet : question(field, expected, [{ label, bet }]))

/** A multiple: its legs where the file prices them. */
function readSeveral(slip: Slip, lead: TrackerCells, sheet: Sheet): WirePick | TrackerProblem {
  const more = extrasIn(lead.cell, sheet, false)
  // A leg's own row says how that leg ended, not the whole.
  const isOfWhole = slip.rows.length === 1 || slip.rows.slice(0, 1).some(isParent)
  return readParlay(
    slip,
    {
      order: sheet.order,
      single: (row) => readSingle(row, sheet),
      odds: (cell) => oddsIn(cell, sheet),
    },
    isOfWhole ? more : { ...more, result: undefined, profit: undefined },
  )
}

/** A bet by its kind (G19): a multiple without its legs' prices, a lay and a bet in play are no pick, however well they read. */
function readSlip(slip: Slip, sheet: Sheet): WirePick | TrackerProblem {
  const rows = slip.rows.map(({ cells }) => cells)
  const lead = rows[0] as TrackerCells
  const kinds = rows.map(betKind)
  const barred = barProblem(kinds, lead.cell, sheet.order)
  if (barred !== undefined) return barred
  const isMultiple = rows.length > 1 || kinds.includes('multiple')
  const bet = isMultiple ? readSeveral(slip, lead, sheet) : readSingle(lead, sheet)
  const doubt = kindDoubt(lead, slip.isDoubtful && !isMultiple)
  return doubt === undefined ? bet : askWhether(doubt, bet)
}

/** What a bet is recognised by, in this order. */
const SHOWN = ['date', 'home', 'away', 'event', 'market', 'selection', 'line', 'odds'] as const
const IDENTIFYING_A_BET = ['odds', 'selection', 'event', 'home'] as const

const NOT_DECODED = problem('text', `whole characters: ${OTHER_ENCODING}`)

const TOO_MANY = problem('legs', `at most ${TRACKER_ROWS_MAX} bets, each leg one`, 'multiple')

function* readRows(slips: readonly Slip[], sheet: Sheet): Generator<TrackerRow> {
  let bets = 0
  for (const [index, slip] of slips.entries()) {
    const words = slip.rows
      .flatMap(({ cells }) => SHOWN.map(cells.cell))
      .filter((part) => part !== '')
    const written = words.join(' · ').replace(/\s+/g, ' ').slice(0, 200)
    const bet = isBrokenText(written) ? NOT_DECODED : readSlip(slip, sheet)
    bets += 'legs' in bet ? bet.legs.length : 1
    const isMore = 'legs' in bet && bets > TRACKER_ROWS_MAX
    yield { index, line: slip.rows[0]?.line ?? 0, written, bet: isMore ? TOO_MANY : bet }
  }
}

/** Lines that begin with one of our keys need no header; those that begin with `#` are comments. */
const OWN_COLUMNS: TrackerColumns = {
  named: new Map(['market', 'selection', 'odds', 'ref'].map((field, column) => [field, [column]])),
  legs: [],
  others: [],
  notation: undefined,
}

/** Reads a tracker's file; its rows are read one by one, as they are asked for. Never throws. */
export function readTracker(text: string, choices: TrackerChoices = {}): ReadTracker {
  const separator = separatorIn(text)
  const records = readRecords(text, separator)
  if (typeof records === 'string') return unreadable(records)
  const head = records.slice(0, HEADER_LINES_MAX)
  const headers = head.map(({ record }) => findTrackerColumns(record))
  const top = headers.findIndex((header) => header !== undefined)
  const isOwn = top === -1 && head.some(({ record }) => OWN_KEY.test(record[0] ?? ''))
  const columns = isOwn ? OWN_COLUMNS : headers[top]
  if (columns === undefined && isBrokenText(text.slice(0, 200)))
    return unreadable(`a header that can be read: ${OTHER_ENCODING}`)
  if (columns === undefined)
    return unreadable(
      'a header with a column of odds and columns of the event or its teams: Date, Home, Away, Market, Selection, Odds',
    )
  const rows = records.slice(top + 1)
  if (rows.length > TRACKER_ROWS_MAX) return unreadable(`at most ${TRACKER_ROWS_MAX} bets`)
  const read = rows.map((row) => ({ ...row, cells: rowCells(columns, row.record) }))
  const cells = read.map((row) => row.cells.cell)
  const sheet: Sheet = {
    order: choices.order ?? dayOrder(cells.flatMap((cell) => [cell('date'), cell('placed')])),
    prices: {
      header: columns.notation,
      choice: choices.notation,
      hasDecimals: cells.some((cell) => /^[1-9][.,]\d*[1-9]/.test(cell('odds'))),
      // If commas do not separate cells, a comma in a price is a decimal comma.
      isCommaDecimal: separator !== ',',
    },
    isName: createNameCheck(),
  }
  const bets = read.filter(({ cells: { cell, legs } }) => {
    if (legs.length > 0) return true
    // A row of sums has no bet.
    return isOwn
      ? !cell('market').startsWith('#')
      : IDENTIFYING_A_BET.some((field) => cell(field) !== '')
  })
  const slips = isOwn ? bets.map((row) => ({ rows: [row], isDoubtful: false })) : gatherSlips(bets)
  return {
    kind: 'tracker',
    lines: slips.map((slip) => slip.rows[0]?.line ?? 0),
    rows: readRows(slips, sheet),
  }
}
