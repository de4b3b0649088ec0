/**
 * Price histories of Kalshi and Polymarket into observations: the last price before an event's start is its close. The
 * histories do not say what their tokens stand for, so the file that an operator imports names each one's event and
 * selection; it holds the histories as the APIs return them. Pure.
 */
import { z } from 'zod'
import type { EntryPrices } from '../domain/ledger-entry.ts'
import { marketPath, marketShape } from '../domain/markets.ts'
import type { Normalised, Refusal } from '../domain/observation.ts'
import { parseWholeMarket } from '../domain/parse-market.ts'
import { isoSeconds } from '../wire/times.ts'
import { namedEvent } from '../wire/upload.ts'
import { acceptBook, newReading, privateFeed, type Reading, refuseTime } from './accept-price.ts'
import { infoOf } from './manual-upload.ts'

/** `GET clob.polymarket.com/prices-history`: the middle of a token's book, from 0 to 1. */
const polymarketHistory = z.object({
  history: z.array(z.object({ t: z.number(), p: z.number() })),
})

const cents = z.object({ close: z.number().nullish() }).nullish()
/** `GET …/markets/{ticker}/candlesticks`: what buying and selling a "yes" cost at the end of each period, in cents. */
const kalshiCandles = z.object({
  candlesticks: z.array(
    z.object({ end_period_ts: z.number(), yes_bid: cents, yes_ask: cents, price: cents }),
  ),
})

const fileSchema = z.object({
  exchange: z.enum(['kalshi', 'polymarket']),
  events: z
    .array(
      z.object({
        ...namedEvent,
        market: z.string().max(200),
        /** By selection; in a market of two, one history may serve both. */
        histories: z.record(z.string().max(80), z.union([polymarketHistory, kalshiCandles])),
      }),
    )
    .min(1)
    .max(1_000),
})

type PredictionFile = z.output<typeof fileSchema>
type MarketEvent = PredictionFile['events'][number]
type History = MarketEvent['histories'][string]

/** What a share cost: to back the selection, and to back the other side. */
type Quote = { readonly atSeconds: number; readonly yes: number; readonly no: number }

function quotesOf(history: History): readonly Quote[] {
  if ('history' in history)
    return history.history.map(({ t, p }) => ({ atSeconds: t, yes: p, no: 1 - p }))
  return history.candlesticks.flatMap(
    ({ end_period_ts: atSeconds, yes_ask: ask, yes_bid: bid }) => {
      const [yes, sold] = [ask?.close, bid?.close]
      if (yes == null || sold == null) return []
      return [{ atSeconds, yes: yes / 100, no: 1 - sold / 100 }]
    },
  )
}

/** The last quote before the start; the histories are in order, but nothing relies on it. */
function lastBefore(quotes: readonly Quote[], startAtSeconds: number): Quote | undefined {
  let last: Quote | undefined
  for (const quote of quotes)
    if (
      quote.atSeconds < startAtSeconds &&
      (last === undefined || quote.atSeconds > last.atSeconds)
    )
      last = quote
  return last
}

/** A share that pays 1 and costs less, as decimal odds; a price of 0 or 1 is none. */
const oddsOf = (share: number): string | undefined =>
  share > 0.001 && share < 0.999 ? String(Number((1 / share).toFixed(6))) : undefined

const TWO_SIDED: Readonly<Record<string, string>> = {
  yes: 'no',
  no: 'yes',
  home: 'away',
  away: 'home',
  over: 'under',
  under: 'over',
}

/** The event's close, or nothing if it is refused. */
function closeOf(
  reading: Reading,
  event: MarketEvent,
  at: { readonly book: string; readonly receivedAtSeconds: number; readonly place: string },
): readonly EntryPrices[] {
  const { book, place, receivedAtSeconds } = at
  const refused = (reason: Refusal['reason'], detail: string): readonly [] => {
    reading.refusals.push({ reason, place, detail })
    return []
  }
  const parsed = parseWholeMarket(`${event.event}/${event.market}`)
  if (parsed.kind !== 'market') return refused('unknown_market', event.market)
  const startAtSeconds = isoSeconds(event.starts_at) ?? 0
  const named = Object.entries(event.histories)
  // If a match can be drawn, "not home" does not price away.
  const hasTwoSides = (marketShape(parsed.key.type).selections?.length ?? 2) === 2
  const odds: Record<string, string> = {}
  let captured = Number.POSITIVE_INFINITY
  for (const [selection, history] of named) {
    const quote = lastBefore(quotesOf(history), startAtSeconds)
    if (quote === undefined) return refused('no_price', `${selection}: no price before the start`)
    const untimely = refuseTime(quote.atSeconds, {
      startAtSeconds,
      receivedAtSeconds,
      isClose: true,
    })
    if (untimely !== undefined) return refused(untimely.reason, `${selection}: ${untimely.detail}`)
    captured = Math.min(captured, quote.atSeconds)
    const other = hasTwoSides && named.length === 1 ? TWO_SIDED[selection] : undefined
    const sides = { [selection]: quote.yes, ...(other && { [other]: quote.no }) }
    for (const [side, share] of Object.entries(sides)) {
      const price = oddsOf(share)
      if (price !== undefined) odds[side] = price
    }
  }
  if (Object.keys(odds).length === 0) return refused('no_price', 'no price between 0 and 1')
  const market = marketPath(parsed.key)
  return acceptBook(reading, { market, book, odds, capturedAtSeconds: captured }, place)
}

/** A file of price histories, if the JSON is one. */
export const readPredictionFile = (json: unknown): PredictionFile | undefined =>
  fileSchema.safeParse(json).data

/** Each event's close at its start, or why there is none. */
export function normalisePredictionMarkets(
  { events, exchange }: PredictionFile,
  receivedAtSeconds: number,
): Normalised {
  const feed = privateFeed(exchange)
  const reading = newReading()
  for (const [index, event] of events.entries()) {
    const at = { book: feed.feed, receivedAtSeconds, place: `events[${index}]` }
    const closes = closeOf(reading, event, at)
    if (closes.length > 0)
      reading.observations.push({
        event: infoOf(event),
        rule: 'last_before_start',
        snapshots: [],
        closes,
        closeStatus: 'final',
        outcomes: [],
      })
  }
  return { feed, ...reading }
}
