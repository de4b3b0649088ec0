/**
 * Betfair's files of starting prices (BSP) into observations: every runner's close to win and to place, and the results.
 * Pure. BSP is the price at which the exchange matched all bets at the off, so it is a close by itself. A withdrawn runner
 * has none, and is not in the field.
 */
import type { EventInfo } from '../domain/closes/event-state.ts'
import type { Normalised, Refusal } from '../domain/closes/observation.ts'
import type { SelectionResult } from '../wire/upload.ts'
import { acceptBook, newReading, privateFeed, type Reading, readOdds } from './accept-price.ts'
import { cellReader, csvTable, readHeader } from './csv-rows.ts'
import { nameSlug } from './event-ids.ts'
import { londonSeconds } from './london-time.ts'

const BSP_FEED = privateFeed('betfair-bsp')

/** Columns that identify such a file; both cases circulate. */
const MARKS = [
  'event_id',
  'menu_hint',
  'event_name',
  'event_dt',
  'selection_name',
  'win_lose',
  'bsp',
]

const MARKET = 'outright/ft'

/** `31-05-2026 16:55`, by London's clock. */
const MOMENT = /^(\d{2})-(\d{2})-(\d{4}) (\d{2}:\d{2})$/

/** A place market pays several runners: each-way bets are graded against it. */
const PLACE_MARKET = /to be placed|\btbp\b|place market|top \d finish/i

/** How far the sum of a place market's starting prices may be from a whole number of places. */
const PLACES_OFF_MAX = 0.25

type Runner = { readonly name: string; readonly bsp: string; readonly hasWon: boolean | undefined }

type Race = {
  readonly line: number
  readonly course: string
  readonly name: string
  readonly moment: string
  readonly runners: Runner[]
}

/** Names in the case of MARKS. */
const lowered = (header: readonly string[]): readonly string[] =>
  header.map((name) => name.trim().toLowerCase())

/** Whether a text begins like one of the files. */
export function isBetfairBsp(raw: Uint8Array): boolean {
  const header = lowered(readHeader(raw))
  return MARKS.every((name) => header.includes(name))
}

function raceEvent({ course, moment }: Race): EventInfo | undefined {
  const [, date = '', month = '', year = '', time = ''] = MOMENT.exec(moment) ?? []
  const startAtSeconds = londonSeconds(`${year}-${month}-${date}`, time)
  const place = nameSlug(course.replace(/\s+\d{1,2}(?:st|nd|rd|th) [A-Z][a-z]{2}$/, ''))
  if (startAtSeconds === undefined || place === '') return undefined
  return {
    path: `horse_racing/${place}.${year}${month}${date}.${time.replace(':', '')}`,
    sport: 'horse_racing',
    league: course,
    // A race has no two sides: its course and time identify it, alike in the files of winners and of places.
    home: course,
    away: time,
    startAtSeconds,
    startPrecision: 'second',
  }
}

/**
 * Results of the field: the winners of its places, or of a dead heat for the only one. None before the file knows them, and
 * none if several tied for the last place, since the file does not say who.
 */
function readResults(
  runners: readonly Runner[],
  places: number | undefined,
): Readonly<Record<string, SelectionResult>> | undefined {
  const winners = runners.filter(({ hasWon }) => hasWon === true).length
  if (winners === 0 || runners.some(({ hasWon }) => hasWon === undefined)) return undefined
  if (places !== undefined && winners !== places) return undefined
  const won: SelectionResult =
    winners === (places ?? 1)
      ? { result: 'won' }
      : { result: 'dead_heat', places: 1, tied: winners }
  return Object.fromEntries(
    runners.map(({ name, hasWon, bsp }): [string, SelectionResult] => {
      if (hasWon === true) return [nameSlug(name), won]
      // A runner without a starting price did not start: its bets are void.
      return [nameSlug(name), { result: bsp === '' ? 'void' : 'lost' }]
    }),
  )
}

/** The places that a market pays: the sum of its starting prices, which have almost no margin; 0 if that is unclear. */
function paidPlaces(prices: readonly string[]): number {
  const sum = prices.reduce((all, price) => all + 1 / Number(price), 0)
  const places = Math.round(sum)
  return Math.abs(sum - places) <= PLACES_OFF_MAX && places < prices.length ? places : 0
}

function readRace(reading: Reading, race: Race): void {
  const place = `line ${race.line}`
  const refuse = (reason: Refusal['reason'], detail: string): void => {
    reading.refusals.push({ reason, place, detail })
  }
  const event = raceEvent(race)
  if (event === undefined)
    return refuse('malformed_row', 'a course and a time such as 31-05-2026 16:55 were expected')
  const odds = readOdds(
    reading,
    race.runners.map(({ name, bsp }) => [nameSlug(name), bsp] as const),
  )
  if (Object.keys(odds).length < 2) return refuse('no_price', 'fewer than two starting prices')
  const places = PLACE_MARKET.test(race.name) ? paidPlaces(Object.values(odds)) : undefined
  if (places === 0)
    return refuse('unknown_market', `${race.name}: its prices do not say how many places it pays`)
  const market = places === undefined ? MARKET : `place/ft/${places}`
  const closes = acceptBook(reading, { market, book: 'betfair_sp', odds, isWhole: true }, place)
  if (closes.length === 0) return undefined
  const results = readResults(race.runners, places)
  reading.observations.push({
    event,
    rule: 'source_declared',
    snapshots: [],
    closes,
    closeStatus: 'final',
    outcomes:
      results === undefined
        ? []
        : [{ period: 'ft', status: 'final', results: { [market]: results } }],
  })
  return undefined
}

const HAS_WON: Readonly<Record<string, boolean>> = { '1': true, '0': false }

/** Reads a file; a race's rows may be anywhere in it. */
export function* readBetfairBsp(raw: Uint8Array): Generator<Normalised> {
  const races = new Map<string, Race>()
  for (const { header, rows } of csvTable(raw)) {
    const names = lowered(header)
    for (const [line, row] of rows) {
      const cell = cellReader(names, row)
      const id = cell('event_id')
      const race = races.get(id) ?? {
        line,
        course: cell('menu_hint').replace(/^[A-Z]{2,3} \/ /, ''),
        name: cell('event_name'),
        moment: cell('event_dt'),
        runners: [],
      }
      races.set(id, race)
      // `3. Sharp Romance (IRE)`: the number is the cloth's.
      const name = cell('selection_name').replace(/^\d+\.\s*/, '')
      race.runners.push({ name, bsp: cell('bsp'), hasWon: HAS_WON[cell('win_lose')] })
    }
  }
  const reading = newReading()
  for (const race of races.values()) readRace(reading, race)
  yield { feed: BSP_FEED, ...reading }
}
