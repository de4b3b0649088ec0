/** Picks of a request as the domain takes them, from JSON or a tracker's file, each with its faults by field. */
import { type Odds, type OddsRefusal, parseOdds } from '@tallystick/odds'
import type { RequestIssue } from '@tallystick/service-kit'
import { isoSeconds } from '@tallystick/service-kit/clock'
import { formatMarketKey } from '../domain/markets/markets.ts'
import { parseMarket } from '../domain/markets/parse-market.ts'
import {
  type AskedPick,
  DEFAULT_GRADE_OPTIONS,
  type GradeOptions,
  type PickRequest,
  type SinglePick,
} from '../domain/markets/pick-request.ts'
import { readTracker, type TrackerRow } from '../tracker/read-tracker.ts'
import type { TrackerProblem } from '../tracker/tracker-problem.ts'
import type { OwnRecord } from '../wire/cards.ts'
import type { RowCause } from '../wire/coverage.ts'
import {
  AUDIT_PICKS_MAX,
  askedSchema,
  placeFraction,
  readStart,
  type WireOptions,
  type WireParlay,
  type WirePick,
  type WireSingle,
  type WireTracker,
} from '../wire/requests.ts'
import { readMembers } from './read-body.ts'

const EXPECTED_ODDS: Readonly<Record<OddsRefusal, string>> = {
  type: 'decimal odds as a number, or odds as text',
  format: 'decimal (2.10), fractional (11/10) or American (+110) odds',
  not_finite: 'a finite number',
  not_above_one: 'odds above 1: at 1 or less nothing is won',
  above_limit: 'odds of at most 1000000',
  american_below_100: 'American odds at or beyond +100 or -100',
  unsigned_whole: 'a clear notation: "+110" is American, "110.0" decimal',
  comma_of_thousands: 'a clear notation: "1.250" is decimal, "+1250" American',
}

export const readGradeOptions = (options: WireOptions | undefined): GradeOptions =>
  options === undefined
    ? DEFAULT_GRADE_OPTIONS
    : {
        method: options.method ?? DEFAULT_GRADE_OPTIONS.method,
        basis: options.basis ?? DEFAULT_GRADE_OPTIONS.basis,
        reference: options.reference,
      }

type Faults = { readonly issues: readonly RequestIssue[] }
type Where = {
  readonly field: string
  readonly options: GradeOptions
  /** Of a record, whose clocks may lack a zone; a pick by itself has no look that would ask. */
  readonly isOfRecord?: boolean
}

function readEachWay({ each_way: eachWay }: WireSingle): PickRequest['eachWay'] {
  const fraction = eachWay && placeFraction(eachWay.fraction)
  return fraction === undefined ? undefined : { places: eachWay?.places ?? 0, fraction }
}

function readDeductions({
  reduction_factor: ofPrice = 0,
  rule4_deduction: ofProfit = 0,
}: WireSingle): PickRequest['deductions'] {
  return ofPrice === 0 && ofProfit === 0 ? undefined : { ofPrice, ofProfit }
}

const oddsIssues = (odds: ReturnType<typeof parseOdds>, field: string): RequestIssue[] =>
  odds.kind === 'refused' ? [{ field: `${field}.odds`, expected: EXPECTED_ODDS[odds.reason] }] : []

/** What the bettor's record says of a bet; undefined if it says nothing. */
function readOwn(
  { book, closing_odds: closing, profit, result, stake }: WirePick,
  { field, issues }: { readonly field: string; readonly issues: RequestIssue[] },
): OwnRecord | undefined {
  const price = closing === undefined ? undefined : parseOdds(closing)
  if (price?.kind === 'refused')
    issues.push({ field: `${field}.closing_odds`, expected: EXPECTED_ODDS[price.reason] })
  const own = {
    ...(stake !== undefined && { stake }),
    ...(book !== undefined && { book }),
    ...(result !== undefined && { result }),
    ...(profit !== undefined && { profit }),
    ...(price?.kind === 'odds' && { closing_odds: price.decimal }),
  }
  return Object.keys(own).length === 0 ? undefined : own
}

/** A parlay with every fault of its legs, by leg. */
function readParlay(parlay: WireParlay, { field, ...rest }: Where): AskedPick | Faults {
  const { legs, placed_at, ref } = parlay
  const odds = parseOdds(parlay.odds)
  const issues = oddsIssues(odds, field)
  const read = legs.flatMap((leg, index) => {
    const wire = placed_at === undefined ? leg : { ...leg, placed_at }
    const pick = readSingle(wire, { field: `${field}.legs[${index}]`, ...rest })
    if (!('issues' in pick)) return [pick]
    issues.push(...pick.issues)
    return []
  })
  const own = readOwn(parlay, { field, issues })
  if (odds.kind === 'refused' || issues.length > 0) return { issues }
  return {
    kind: 'parlay',
    legs: read,
    odds,
    isConfirmed: parlay.confirmed,
    options: rest.options,
    ref,
    own,
  }
}

/** Reads a pick of the right shape into the domain's pick, or says what is malformed, whatever the ledger knows (G3). */
export const readPick = (pick: WirePick, where: Where): AskedPick | Faults =>
  'legs' in pick ? readParlay(pick, where) : readSingle(pick, where)

/** A bet whose record has only the day on which it was placed. */
const DAY_TEXT = /^\d{4}-\d{2}-\d{2}$/

function readSingle(pick: WireSingle, { field, isOfRecord, options }: Where): SinglePick | Faults {
  const odds = parseOdds(pick.odds)
  const issues = oddsIssues(odds, field)
  const clock = readStart(pick.placed_at ?? '')
  const isClock = isOfRecord === true && clock?.hasZone === false
  const placedDay = isClock ? pick.placed_at?.slice(0, 10) : pick.placed_at
  const placed = placedDay === undefined ? undefined : isoSeconds(placedDay)
  if (pick.placed_at !== undefined && placed === undefined)
    issues.push({
      field: `${field}.placed_at`,
      expected: 'an ISO 8601 time with its zone, such as 2026-06-01T18:00:00Z',
    })
  const market = parseMarket(pick)
  if (market.kind === 'malformed')
    issues.push({ field: `${field}.${market.path}`, expected: market.expected })
  if (pick.each_way !== undefined && market.kind === 'market' && market.key.type !== 'outright')
    issues.push({
      field: `${field}.each_way`,
      expected: 'none: only winners of a field have places',
    })
  const own = readOwn(pick, { field, issues })
  if (odds.kind === 'refused' || market.kind === 'malformed' || issues.length > 0) return { issues }
  if (market.kind === 'ambiguous')
    return {
      kind: 'ambiguous',
      market: typeof pick.market === 'string' ? pick.market : JSON.stringify(pick.market),
      selection: pick.selection,
      candidates: market.candidates,
      ref: pick.ref,
      own,
    }
  const { key, selection } = market
  return {
    kind: 'pick',
    key,
    selection,
    odds,
    options,
    placedAtSeconds: placed,
    isPlacedDay: placedDay !== undefined && DAY_TEXT.test(placedDay),
    placedClockSeconds: isClock ? clock.atSeconds : undefined,
    daySeconds: pick.date === undefined ? undefined : isoSeconds(pick.date),
    startsAt: pick.starts_at === undefined ? undefined : readStart(pick.starts_at),
    league: pick.league,
    isEitherOrder: pick.either_order,
    isConfirmed: pick.confirmed,
    fieldSize: pick.field_size,
    ref: pick.ref,
    own,
    eachWay: readEachWay(pick),
    deductions: readDeductions(pick),
  }
}

/** Two notations of one price differ by less than one of it in so many parts. */
const PRICE_PARTS = 1e6
const priceNumber = (odds: Odds): number => Math.round(odds.decimal * PRICE_PARTS)

/** What makes two picks of a slate duplicates: a pick counted twice would pass for twice the evidence. */
function duplicateKey(pick: AskedPick): string {
  if (pick.kind === 'ambiguous') return `${pick.market} ${pick.selection}`
  if (pick.kind === 'parlay')
    return `${priceNumber(pick.odds)} ${pick.legs.map(duplicateKey).toSorted().join()}`
  const { daySeconds = '', key, odds, selection, startsAt } = pick
  const placed = pick.placedClockSeconds ?? pick.placedAtSeconds ?? ''
  // -110 and 10/11 are one price; 1.91 beside them is found when the audit is made (audit-context.ts).
  return `${formatMarketKey(key)} ${selection} ${priceNumber(odds)} ${placed} ${startsAt?.atSeconds ?? daySeconds}`
}

/** Where a pick stands in its request. */
export type Place = {
  /** In the list, from 0. */
  readonly index: number
  /** Its line of the file, and what stands there. */
  readonly line?: number
  readonly written?: string
}

export type ReadRow = Place &
  (
    | {
        readonly kind: 'asked'
        readonly pick: AskedPick
        readonly wire: WirePick
        /** The row of a file that has the same bet: an audit counts the two once. */
        readonly repeats?: Place
      }
    | {
        readonly kind: 'faulty'
        readonly issues: readonly RequestIssue[]
        readonly cause: RowCause
      }
  )

/** The rows and their places; each is read on demand, since a free look stops when its time is spent. */
export type Rows = { readonly places: readonly Place[]; readonly rows: Generator<ReadRow> }

type ReadPicks =
  | ({ readonly kind: 'rows' } & Rows)
  | { readonly kind: 'unreadable'; readonly issues: readonly RequestIssue[] }

const fieldOfRow = ({ index, line }: Place): string =>
  line === undefined ? `body.picks[${index}]` : `body.csv.line_${line}`

/** A pick in a few words, to recognise it by. */
function writtenIn(pick: WirePick): string {
  if ('legs' in pick) return `${pick.legs.length} legs · ${pick.odds}`
  const { market, odds, selection } = pick
  const name = typeof market === 'string' ? market : `${market.event} ${market.type}`
  return `${name} · ${selection} · ${odds}`
}

const SAME_BET: RowCause = { kind: 'not_gradable', code: 'same_bet' }
const NOT_READ: RowCause = { kind: 'not_gradable', code: 'not_read' }

/** A row's cause as the look before an audit tells it. */
function rowCause({ code = 'not_read', field, options = [] }: TrackerProblem): RowCause {
  if (options.length === 0) return { kind: 'not_gradable', code, field }
  const shown = options.map(({ label, ...answer }) =>
    'bet' in answer ? { label, send: answer.bet } : { label, ...answer },
  )
  return { kind: 'question', code, field, options: shown }
}

function readWire(place: Place, wire: WirePick, options: GradeOptions): ReadRow {
  const pick = readPick(wire, { field: fieldOfRow(place), options, isOfRecord: true })
  const where = { written: writtenIn(wire), ...place }
  return 'issues' in pick
    ? { ...where, kind: 'faulty', issues: pick.issues, cause: NOT_READ }
    : { ...where, kind: 'asked', pick, wire }
}

function* readWires(picks: readonly WirePick[], options: GradeOptions): Generator<ReadRow> {
  for (const [index, wire] of picks.entries()) yield readWire({ index }, wire, options)
}

function* readTrackerRows(rows: Iterable<TrackerRow>, options: GradeOptions): Generator<ReadRow> {
  for (const { bet, ...place } of rows)
    if ('expected' in bet) {
      const field = `${fieldOfRow(place)}.${bet.field}`
      const issues = [{ field, expected: bet.expected }]
      yield { ...place, kind: 'faulty', issues, cause: rowCause(bet) }
    } else yield readWire(place, bet, options)
}

/**
 * A pick counted twice would pass for twice the evidence. In a list the second of two alike is faulty; in a file, where one
 * bet stands at two books, it is marked, and an audit counts the two once.
 */
function* withoutRepeats(rows: Iterable<ReadRow>): Generator<ReadRow> {
  const first = new Map<string, Place>()
  for (const row of rows) {
    const key = row.kind === 'asked' ? duplicateKey(row.pick) : undefined
    const before = key === undefined ? undefined : first.get(key)
    if (before === undefined) {
      if (key !== undefined) first.set(key, row)
      yield row
      continue
    }
    const { index, line, written = '' } = row
    if (line !== undefined && row.kind === 'asked') {
      yield { ...row, repeats: before }
      continue
    }
    const issue = { field: fieldOfRow(row), expected: `another pick than ${fieldOfRow(before)}` }
    yield { index, written, kind: 'faulty', issues: [issue], cause: SAME_BET }
  }
}

const unreadable = (field: string, expected: string): ReadPicks & Faults => ({
  kind: 'unreadable',
  issues: [{ field, expected }],
})

/** Reads the shape of picks. At so many faults the rest is not read: naming them costs more than the work. */
function shapedPicks(rows: readonly unknown[]): readonly WirePick[] | (ReadPicks & Faults) {
  const picks: WirePick[] = []
  const issues: RequestIssue[] = []
  let bets = 0
  for (const [index, pick] of rows.entries()) {
    const read = readMembers(askedSchema, pick, fieldOfRow({ index }))
    if (read.kind === 'faulty') issues.push(...read.issues)
    else {
      picks.push(read.data)
      bets += 'legs' in read.data ? read.data.legs.length : 1
    }
    if (bets > AUDIT_PICKS_MAX || issues.length > AUDIT_PICKS_MAX) break
  }
  if (issues.length > 0) return { kind: 'unreadable', issues }
  const expected = `at most ${AUDIT_PICKS_MAX} picks, where each leg of a parlay is one`
  return bets > AUDIT_PICKS_MAX ? unreadable('body.picks', expected) : picks
}

/** Reads the picks of a request; each row is read when it is asked for. */
export function readPicks(
  body: { readonly picks?: readonly unknown[] | undefined } & WireTracker,
  options: GradeOptions,
): ReadPicks {
  const { csv, date_order: order, odds_notation: notation } = body
  if (csv === undefined) {
    const picks = shapedPicks(body.picks ?? [])
    if ('kind' in picks) return picks
    const places = picks.map((_, index) => ({ index }))
    return { kind: 'rows', places, rows: withoutRepeats(readWires(picks, options)) }
  }
  const tracker = readTracker(csv, { notation, order })
  if (tracker.kind === 'unreadable') return unreadable('body.csv', tracker.problem)
  if (tracker.lines.length === 0) return unreadable('body.csv', 'at least one bet below the header')
  const places = tracker.lines.map((line, index) => ({ index, line }))
  return { kind: 'rows', places, rows: withoutRepeats(readTrackerRows(tracker.rows, options)) }
}
