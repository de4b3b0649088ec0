/**
 * A tracker's CSV export as picks of the API: one row, one pick, or what is missing in it. Pure: only the
 * ledger knows whether a match and its close are recorded.
 */
import type { OddsNotation, WirePick, WireSingle } from '../wire/requests.ts'
import {
  betKind,
  isMaybeInPlay,
  isNotTaken,
  kindProblem,
  marketIn,
  unknownKinds,
  withoutPlainKind,
} from './bet-kind.ts'
import { leagueIn, marketBeside, partsBeside, withoutSport } from './columns-beside.ts'
import { isBrokenText, OTHER_ENCODING } from './decode-file.ts'
import { isPlacedAfterStart } from './placed-after-start.ts'
import { readParlay } from './read-parlay.ts'
import {
  cellsOf,
  findTrackerColumns,
  type TrackerCells,
  type TrackerColumns,
} from './tracker-columns.ts'
import { type DayOrder, orderOf, whenOf } from './tracker-dates.ts'
import { backedSide, eventIn, sportOf, teamsOf } from './tracker-events.ts'
import { readBet } from './tracker-market.ts'
import { isShareExchange, readOdds } from './tracker-odds.ts'
import { problem, question, type TrackerProblem } from './tracker-problem.ts'
import { isRace, readRace } from './tracker-race.ts'
import { readOwnRecord } from './tracker-record.ts'
import { HEADER_LINES_MAX, recordsOf, separatorOf, TRACKER_ROWS_MAX } from './tracker-records.ts'
import { gatherSlips, isParent, OWN_KEY, type Slip } from './tracker-slips.ts'

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
  readonly columns: TrackerColumns
  readonly separator: string
  readonly order: DayOrder | undefined
  readonly choices: TrackerChoices
  /** Whether prices of the file have decimals, such as 1.67. */
  readonly hasDecimals: boolean
}

type Cells = TrackerCells['cell']

const unreadable = (why: string): ReadTracker => ({ kind: 'unreadable', problem: why })

/** What a price in each notation is called: with an example, since the answer is for the whole file. */
const NOTATION_LABELS: Readonly<Record<OddsNotation, string>> = {
  american: 'American: 150 wins 150 on 100',
  decimal: 'decimal: 150 pays 150 for 1',
  fractional: 'a profit per unit: 0.5 wins 0.5 on 1',
  hong_kong: 'Hong Kong: 0.5 wins 0.5 on 1',
  indonesian: 'Indonesian: -1.5 wins 1 on 1.5',
  malay: 'Malay: -0.5 wins 1 on 0.5',
  share: 'a share of one: 0.5 is 50¢',
}

/** A price of the row as the row, its header or the reader means it. */
function readPrice(text: string, cell: Cells, sheet: Sheet): ReturnType<typeof readOdds> {
  const { choices, columns, hasDecimals, separator } = sheet
  return readOdds(text, {
    header: columns.notation,
    named: cell('notation'),
    choice: choices.notation,
    isShares: isShareExchange(cell('book')),
    hasDecimals,
    // If commas do not separate cells, a comma in a price is a decimal comma.
    isCommaDecimal: separator !== ',',
  })
}

/** The odds that were taken; a question if they may be two prices. */
function oddsIn(cell: Cells, sheet: Sheet): string | TrackerProblem {
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

/** When the bet was placed, where the start stands in the market's key. */
const betTime = ({ placed_at }: Pick<WireSingle, 'placed_at'>) =>
  placed_at === undefined ? {} : { placed_at }

/** Sports whose fixtures are written with the away team first, whatever stands between the two. */
const AWAY_FIRST_SPORTS: ReadonlySet<string> = new Set([
  'american_football',
  'baseball',
  'basketball',
  'ice_hockey',
])

/** A bettor's yes to a price far from anything recorded (G21). */
const CONFIRMED = /^(?:y|yes|true|1|x)$/i

/** A closing price of the record; one that may be two prices is left as it is, and compared with nothing. */
function closingOdds(text: string, cell: Cells, sheet: Sheet): string {
  const read = readPrice(text, cell, sheet)
  return read.kind === 'odds' ? read.odds : text
}

/** Members that say more about a pick, and never spoil it. */
const extrasOf = (cell: Cells, sheet: Sheet, hasLine: boolean) => ({
  ...readOwnRecord(cell, { hasLine, odds: (text) => closingOdds(text, cell, sheet) }),
  ref: cell('ref').replace(/\p{C}/gu, ' ').slice(0, 80) || undefined,
  confirmed: CONFIRMED.test(cell('confirmed')) || undefined,
})

/** A row as a pick of its own, whatever kind of bet it is. */
function readSingle(row: TrackerCells, sheet: Sheet): WireSingle | TrackerProblem {
  const { cell } = row
  if (cell('odds') === '') return problem('odds', 'the price that was taken')
  const when = whenOf(cell, sheet.order)
  if ('field' in when) return when
  const odds = oddsIn(cell, sheet)
  if (typeof odds !== 'string') return odds
  // Our own keys are taken as they are.
  if (OWN_KEY.test(cell('market'))) {
    const [market, selection] = [cell('market'), cell('selection')]
    return {
      market,
      selection,
      odds,
      ...when,
      ...extrasOf(cell, sheet, market.split('/').length > 4),
    }
  }
  return isRace(cell)
    ? readRunner(row, { odds, when }, sheet)
    : readMatch(row, { odds, when }, sheet)
}

type Priced = {
  readonly odds: string
  readonly when: Exclude<ReturnType<typeof whenOf>, TrackerProblem>
}

function readRunner({ cell, hints }: TrackerCells, { odds, when }: Priced, sheet: Sheet) {
  const race = readRace(cell, sheet.order)
  if ('expected' in race) return race
  if (hints('deduction').some((text) => /[1-9]/.test(text)))
    return problem('odds', 'the price as it paid: withdrawn runners reduced it', 'unclear')
  return { ...race, odds, ...betTime(when), ...extrasOf(cell, sheet, false) }
}

function readMatch(row: TrackerCells, { odds, when }: Priced, sheet: Sheet) {
  const { cell, hints } = row
  const written = teamsOf(cell)
  const found = written.event === '' ? eventIn(cell('selection')) : undefined
  const { teams, event, isSided } = found ?? written
  if (event === '') return problem('event', 'both teams, such as Arsenal v Chelsea')
  if (Object.keys(when).length === 0)
    return problem('date', 'the day of the match, or when the bet was placed')
  const sport = sportOf(cell, teams)
  if (sport === undefined)
    return problem('sport', 'a sport or league such as soccer, EPL, NFL or MLB')
  const selection = found?.selection ?? cell('selection')
  const kinds = hints('kinds').map(withoutPlainKind)
  const name = written.market ?? (marketIn(row) || (kinds.find((kind) => kind !== '') ?? ''))
  const parts = partsBeside(row, { sport, teams, selection })
  if ('expected' in parts) return parts
  const market = [withoutSport(name, sport), ...parts].filter((part) => part !== '').join(' ')
  const said = { sport, market, selection, line: cell('line'), teams }
  const bet = readBet(said)
  if ('expected' in bet) return bet
  const { type, period, participant, line } = bet
  const isTurnable =
    !isSided &&
    AWAY_FIRST_SPORTS.has(sport) &&
    teams !== undefined &&
    (type === 'total' ||
      (participant === undefined && backedSide(sport, selection, teams) !== undefined))
  const league = leagueIn(row)
  const pick = {
    market: { sport, event, type, period, participant },
    selection: bet.selection,
    line,
    odds,
    ...when,
    ...(league === '' ? {} : { league }),
    ...(isTurnable ? { either_order: true } : {}),
    ...extrasOf(cell, sheet, line !== undefined),
  }
  const other = marketBeside(row, said, bet)
  if (other === undefined) return pick
  const expected = `one bet: “${other}” beside it may make it another`
  return askWhether({ field: 'market', expected, label: 'it is the bet of its own columns' }, pick)
}

/** A question with one answer that makes the row a pick; what else it lacks comes first. */
const askWhether = (
  {
    expected,
    field,
    label,
  }: Pick<TrackerProblem, 'field' | 'expected'> & { readonly label: string },
  bet: WirePick | TrackerProblem,
): TrackerProblem => ('expected' in bet ? bet : question(field, expected, [{ label, bet }]))

/** A multiple: its legs where the file prices them. */
function readSeveral(slip: Slip, sheet: Sheet): WirePick | TrackerProblem {
  const [lead] = slip.rows
  const ofLead = extrasOf(lead?.cells.cell ?? (() => ''), sheet, false)
  // A leg's own row says how that leg ended, not the whole.
  const isOfWhole = slip.rows.length === 1 || (lead !== undefined && isParent(lead))
  const more = isOfWhole ? ofLead : { ...ofLead, result: undefined, profit: undefined }
  return readParlay(
    slip,
    {
      order: sheet.order,
      single: (row) => readSingle(row, sheet),
      odds: (cell) => oddsIn(cell, sheet),
    },
    more,
  )
}

/** A bet by its kind (G19): a multiple without its legs' prices, a lay and a bet in play are no pick, however well they read. */
function readSlip(slip: Slip, sheet: Sheet): WirePick | TrackerProblem {
  const row = slip.rows[0]?.cells as TrackerCells
  const kinds = slip.rows.map(({ cells }) => betKind(cells))
  const kind = kinds.find((found) => found !== undefined && found !== 'multiple')
  if (kind !== undefined) return kindProblem(kind)
  if (isPlacedAfterStart(row.cell, sheet.order))
    return problem('placed_at', 'a time before the start in the same row', 'placed_after_start')
  const isMultiple = slip.rows.length > 1 || kinds.includes('multiple')
  const bet = isMultiple ? readSeveral(slip, sheet) : readSingle(row, sheet)
  if (slip.isDoubtful && !isMultiple)
    return askWhether(
      {
        field: 'type',
        expected: 'a bet by itself: by its id or the row below it may be a leg of another',
        label: 'it is a single bet before the start',
      },
      bet,
    )
  if (isMaybeInPlay(row))
    return askWhether(
      {
        field: 'in_play',
        expected: 'a bet before the start: the row has words of a bet in play',
        label: 'it was placed before the start',
      },
      bet,
    )
  if (isNotTaken(row))
    return askWhether(
      { field: 'result', expected: 'a bet that was taken', label: 'it was taken' },
      bet,
    )
  const [unknown] = unknownKinds(row)
  if (unknown === undefined) return bet
  const expected = `a kind of bet that is known, not ${unknown.slice(0, 40)}`
  return askWhether({ field: 'type', expected, label: 'it is a single bet before the start' }, bet)
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
  of: new Map([
    ['market', 0],
    ['selection', 1],
    ['odds', 2],
    ['ref', 3],
  ]),
  times: new Map(),
  hints: new Map(),
  legs: [],
  others: [],
  notation: undefined,
}

/** Reads a tracker's file; its rows are read one by one, as they are asked for. Never throws. */
export function readTracker(text: string, choices: TrackerChoices = {}): ReadTracker {
  const separator = separatorOf(text)
  const records = recordsOf(text, separator)
  if (typeof records === 'string') return unreadable(records)
  const head = records.slice(0, HEADER_LINES_MAX)
  const top = head.findIndex(({ record }) => findTrackerColumns(record) !== undefined)
  const isOwn = top === -1 && head.some(({ record }) => OWN_KEY.test(record[0] ?? ''))
  const columns = isOwn ? OWN_COLUMNS : findTrackerColumns(records[top]?.record ?? [])
  if (columns === undefined && isBrokenText(text.slice(0, 200)))
    return unreadable(`a header that can be read: ${OTHER_ENCODING}`)
  if (columns === undefined)
    return unreadable(
      'a header with a column of odds and columns of the event or its teams: Date, Home, Away, Market, Selection, Odds',
    )
  const rows = records.slice(top + 1)
  if (rows.length > TRACKER_ROWS_MAX) return unreadable(`at most ${TRACKER_ROWS_MAX} bets`)
  const read = rows.map((row) => ({ ...row, cells: cellsOf(columns, row.record) }))
  const cells = read.map((row) => row.cells.cell)
  const sheet = {
    columns,
    separator,
    order: choices.order ?? orderOf(cells.flatMap((cell) => [cell('date'), cell('placed')])),
    choices,
    hasDecimals: cells.some((cell) => /^[1-9][.,]\d*[1-9]/.test(cell('odds'))),
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
