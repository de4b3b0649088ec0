/**
 * Turns payloads of The Odds API v4, live and history, into observations. A payload from before an event's start gives
 * its prices as snapshots and as a provisional close; the poller makes the last of them final (odds-poller.ts). A history
 * payload requested for a time shortly before the start knows which prices were the last: `stage: 'final'`. Pure.
 */
import { getOrMake } from '@tallystick/service-kit'
import { isoSeconds } from '@tallystick/service-kit/clock'
import { z } from 'zod'
import type { EventInfo } from '../domain/closes/event-state.ts'
import type { EntryPrices } from '../domain/closes/ledger-entry.ts'
import type { Normalised, Observation, Refusal } from '../domain/closes/observation.ts'
import {
  type MarketType,
  marketPath,
  marketPeriod,
  marketTypesNamed,
  ownValue,
} from '../domain/markets/markets.ts'
import {
  acceptBook,
  newReading,
  parseJson,
  privateFeed,
  type Reading,
  readOdds,
  refuseTime,
} from './accept-price.ts'
import { eventSlug, nameSlug } from './event-ids.ts'

/** The API's terms forbid passing its odds on. */
export const ODDS_API_FEED = privateFeed('the-odds-api')

const isoTime = z.string().transform((text, context) => {
  const seconds = isoSeconds(text)
  if (seconds !== undefined) return seconds
  context.addIssue({ code: 'custom', message: 'an ISO 8601 time' })
  return z.NEVER
})

const outcomeSchema = z.object({
  name: z.string().min(1),
  price: z.number().nullish(),
  point: z.number().nullish(),
  description: z.string().optional(),
})

const marketSchema = z.object({
  key: z.string(),
  last_update: isoTime.optional(),
  outcomes: z.array(outcomeSchema),
})

const bookmakerSchema = z.object({
  key: z.string().min(1),
  last_update: isoTime.optional(),
  markets: z.array(marketSchema),
})

const eventSchema = z.object({
  id: z.string(),
  sport_key: z.string().min(1),
  sport_title: z.string().optional(),
  commence_time: isoTime,
  home_team: z.string().min(1),
  away_team: z.string().min(1),
  bookmakers: z.array(bookmakerSchema),
})

const payloadSchema = z.union([
  z.array(z.unknown()),
  z.object({ timestamp: isoTime, data: z.unknown() }),
])

type FeedEvent = z.output<typeof eventSchema>
type FeedMarket = z.output<typeof marketSchema>

export type OddsApiReading = {
  /** When it was received, Unix seconds; a history payload's own timestamp overrides it. */
  readonly receivedAtSeconds: number
  /** `final`: its prices are the last before the start. */
  readonly stage: 'provisional' | 'final'
}

/** Sports that the API writes as one word. */
const SPORT_NAMES: Readonly<Record<string, string>> = {
  americanfootball: 'american_football',
  icehockey: 'ice_hockey',
}

/** `soccer_epl` is the league epl of soccer. */
function splitSportKey(sportKey: string): { readonly sport: string; readonly league: string } {
  const [first = sportKey, ...rest] = sportKey.toLowerCase().split('_')
  return { sport: ownValue(SPORT_NAMES, first) ?? first, league: rest.join('_') || first }
}

function readInfo(event: FeedEvent): EventInfo {
  const { sport, league } = splitSportKey(event.sport_key)
  const { home_team: home, away_team: away, commence_time: startAtSeconds } = event
  const id = eventSlug({ league, daySeconds: startAtSeconds, home, away })
  return {
    path: `${sport}/${id}`,
    sport,
    league: event.sport_title ?? league,
    home,
    away,
    startAtSeconds,
    startPrecision: 'second',
    ...(event.id === '' ? {} : { feedId: event.id }),
  }
}

const TEAMLESS: readonly string[] = ['draw', 'over', 'under', 'yes', 'no']

function feedSelection(event: FeedEvent, name: string): string | undefined {
  if (name === event.home_team) return 'home'
  if (name === event.away_team) return 'away'
  return TEAMLESS.find((selection) => selection === name.toLowerCase())
}

/** Our type for a market: h2h with three outcomes is 1x2 in any sport. */
function feedMarketType(event: FeedEvent, market: FeedMarket): MarketType | undefined {
  const { sport } = splitSportKey(event.sport_key)
  const name = market.key.replace(/^alternate_/, '').replace(/_lay$/, '')
  if (market.key.endsWith('_lay')) return undefined
  if (name === 'h2h')
    return market.outcomes.some((outcome) => outcome.name === 'Draw') ? '1x2' : 'ml'
  if (name === 'h2h_3_way') return '1x2'
  if (name === 'btts' || name === 'draw_no_bet' || name === 'totals' || name === 'spreads')
    return marketTypesNamed(name, { sport })[0]
  return undefined
}

/** The line from the home or over side: an away handicap is the home handicap negated. */
function keyLine(selection: string, point: number | null | undefined): number | undefined {
  if (point === undefined || point === null || !Number.isInteger(point * 4)) return undefined
  const line = selection === 'away' ? -point : point
  return line === 0 ? 0 : line
}

/** A book's prices of one market, by line. */
function readPrices(
  gathered: Reading,
  options: {
    readonly event: FeedEvent
    readonly book: string
    readonly market: FeedMarket
    readonly capturedAtSeconds: number
    readonly place: string
  },
): readonly EntryPrices[] {
  const { event, book, market, capturedAtSeconds, place } = options
  const type = feedMarketType(event, market)
  if (type === undefined) {
    gathered.refusals.push({ reason: 'unknown_market', place, detail: market.key })
    return []
  }
  const byPath = new Map<string, [selection: string, price: number | null | undefined][]>()
  const needsLine = type === 'ah' || type === 'spread' || type === 'total'
  for (const { name, price, point } of market.outcomes) {
    const selection = feedSelection(event, name)
    const line = selection === undefined ? undefined : keyLine(selection, point)
    if (selection === undefined || (needsLine && line === undefined)) {
      gathered.refusals.push({ reason: 'unknown_market', place, detail: `outcome ${name}` })
      continue
    }
    const period = marketPeriod(splitSportKey(event.sport_key).sport, type, 'ft')
    const path = marketPath({ type, period, line: needsLine ? line : undefined })
    getOrMake(byPath, path, () => []).push([selection, price])
  }
  const further = market.key.startsWith('alternate_') ? { isAlternative: true } : {}
  return [...byPath].flatMap(([path, written]) => {
    const odds = readOdds(gathered, written)
    if (Object.keys(odds).length === 0) return []
    return acceptBook(gathered, { market: path, book, odds, ...further, capturedAtSeconds }, place)
  })
}

function readEvent(
  gathered: Reading,
  event: FeedEvent,
  { reading, place }: { readonly reading: OddsApiReading; readonly place: string },
): Observation {
  const { receivedAtSeconds, stage } = reading
  const isClose = stage === 'final'
  const info = readInfo(event)
  const all: EntryPrices[] = []
  for (const [b, bookmaker] of event.bookmakers.entries())
    for (const [m, market] of bookmaker.markets.entries()) {
      const at = `${place}.bookmakers[${b}].markets[${m}]`
      const seen = market.last_update ?? bookmaker.last_update ?? receivedAtSeconds
      const moment = { startAtSeconds: info.startAtSeconds, receivedAtSeconds, isClose }
      const refusal =
        refuseTime(seen, moment) ??
        // Prices that arrive after the start are in-play, whatever their timestamp says.
        (isClose ? undefined : refuseTime(receivedAtSeconds, moment))
      const book = nameSlug(bookmaker.key).replaceAll('-', '_')
      const found = { event, book, market, capturedAtSeconds: seen, place: at }
      if (refusal === undefined) all.push(...readPrices(gathered, found))
      else gathered.refusals.push({ ...refusal, place: at })
    }
  // The further lines may include the main one: it is one price and counts once.
  const main = new Set(
    all.flatMap((quote) => (quote.isAlternative ? [] : [`${quote.book} ${quote.market}`])),
  )
  const prices = all.filter(
    (quote) => quote.isAlternative !== true || !main.has(`${quote.book} ${quote.market}`),
  )
  return {
    event: info,
    rule: 'last_before_start',
    snapshots: isClose ? [] : prices,
    closes: prices,
    closeStatus: stage,
    outcomes: [],
  }
}

const malformed = (place: string, detail: string): Refusal => ({
  reason: 'malformed_row',
  place,
  detail,
})

/** Reads a payload. An unreadable event is refused alone; an unreadable payload is refused as a whole. */
export function normaliseOddsApi(raw: Uint8Array, reading: OddsApiReading): Normalised {
  const payload = payloadSchema.safeParse(parseJson(raw))
  const gathered = newReading()
  const { observations, refusals } = gathered
  if (!payload.success) {
    refusals.push(malformed('$', 'a list of events, or a history payload'))
    return { feed: ODDS_API_FEED, ...gathered }
  }
  const history = Array.isArray(payload.data) ? undefined : payload.data
  const events: readonly unknown[] = [history === undefined ? payload.data : history.data].flat()
  const at = { ...reading, receivedAtSeconds: history?.timestamp ?? reading.receivedAtSeconds }
  for (const [index, listed] of events.entries()) {
    const place = `${history === undefined ? '' : 'data'}[${index}]`
    const event = eventSchema.safeParse(listed)
    if (!event.success) {
      const [issue] = event.error.issues
      refusals.push(malformed(place, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`))
      continue
    }
    const observation = readEvent(gathered, event.data, { reading: at, place })
    if (observation.closes.length > 0) observations.push(observation)
  }
  return { feed: ODDS_API_FEED, ...gathered }
}
