/**
 * Price histories of Kalshi and Polymarket into observations: the last price before an event's start is its close. The
 * histories do not say what their tokens stand for, so the file that an operator imports names each one's event and
 * selection; it holds the histories as the APIs return them. Pure.
 */

import { isoSeconds } from '@tallystick/service-kit/clock'
import { z } from 'zod'
import type { EntryPrices } from '../domain/closes/ledger-entry.ts'
import type { Normalised, Refusal } from '../domain/closes/observation.ts'
import { marketPath, marketShape } from '../domain/markets/markets.ts'
import { parseWholeMarket } from '../domain/markets/parse-market.ts'
import { namedEvent } from '../wire/upload.ts'
import { acceptBook, newReading, privateFeed, type Reading, refuseTime } from './accept-price.ts'
import { uploadedInfo } from './manual-upload.ts'

/** `GET clob.polymarket.com/prices-history`: the middle of a token's book, from 0 to 1. */
const polymarketHistory = z.object({
  history: z.array(z.object({ t: z.number(), p: z.number() })),
})

const amount = z.union([z.number(), z.string()]).nullish()
/**
 * An offer at the end of a period. Kalshi writes dollars as texts: `close_dollars` of today's answers, `close` of its
 * archive; its numbers are whole cents, which it no longer sends.
 */
const offer = z.object({ close: amount, close_dollars: amount }).nullish()
/** `GET …/markets/{ticker}/candlesticks`: what buying and selling a "yes" cost at the end of each period. */
const kalshiCandles = z.object({
  candlesticks: z.array(
    z.object({ end_period_ts: z.number(), yes_bid: offer, yes_ask: offer, price: offer }),
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

const DOLLARS = /^\d*\.?\d+$/

/** An offer in dollars; undefined if the period had none. */
function priceInDollars(written: z.output<typeof offer>): number | undefined {
  const { close, close_dollars: dollars } = written ?? {}
  if (dollars == null && typeof close === 'number') return close / 100
  const text = String(dollars ?? close ?? '')
  return DOLLARS.test(text) ? Number(text) : undefined
}

/** The number that would be read as cents although it looks like dollars: a cent is whole, and not every price is at most one. */
function dollarsAmongCents(history: History): number | undefined {
  if ('history' in history) return undefined
  const numbers = history.candlesticks
    .flatMap(({ yes_ask: ask, yes_bid: bid }) => [ask, bid])
    .flatMap((side) =>
      typeof side?.close === 'number' && side.close_dollars == null ? [side.close] : [],
    )
  const isAtMostOne = numbers.every((cents) => cents <= 1)
  return numbers.find((cents) => cents > 0 && (cents < 1 || isAtMostOne))
}

function readQuotes(history: History): readonly Quote[] {
  if ('history' in history)
    return history.history.map(({ t, p }) => ({ atSeconds: t, yes: p, no: 1 - p }))
  return history.candlesticks.flatMap(
    ({ end_period_ts: atSeconds, yes_ask: ask, yes_bid: bid }) => {
      const [yes, sold] = [priceInDollars(ask), priceInDollars(bid)]
      if (yes === undefined || sold === undefined) return []
      return [{ atSeconds, yes, no: 1 - sold }]
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
const oddsAtShare = (share: number): string | undefined =>
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
function readClose(
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
    const unclear = dollarsAmongCents(history)
    if (unclear !== undefined)
      return refused(
        'malformed_row',
        `${selection}: ${unclear} as a number looks like dollars; Kalshi's numbers are cents, 1 to 99, and its dollars texts such as close_dollars "0.5600"`,
      )
    const quote = lastBefore(readQuotes(history), startAtSeconds)
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
      const price = oddsAtShare(share)
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
    const closes = readClose(reading, event, at)
    if (closes.length > 0)
      reading.observations.push({
        event: uploadedInfo(event),
        rule: 'last_before_start',
        snapshots: [],
        closes,
        closeStatus: 'final',
        outcomes: [],
      })
  }
  return { feed, ...reading }
}
