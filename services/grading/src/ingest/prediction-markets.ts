/**
 * Price histories of Kalshi and Polymarket into observations: the last price before an event's start is its close. The
 * histories do not say what their tokens are on, so the file that an operator imports names the event and the selection
 * of each; the histories stand in it as the APIs answer them. Pure.
 */
import { z } from 'zod'
import type { FeedInfo } from '../domain/event-state.ts'
import type { EntryPrices } from '../domain/ledger-entry.ts'
import { marketPath } from '../domain/markets.ts'
import type { Normalised, Refusal } from '../domain/observation.ts'
import { parseWholeMarket } from '../domain/parse-market.ts'
import { isoSeconds } from '../wire/times.ts'
import { parseJson, refuseBook, refuseTime } from './accept-price.ts'

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

const isoTime = z.string().refine((text) => isoSeconds(text) !== undefined)

const fileSchema = z.object({
  exchange: z.enum(['kalshi', 'polymarket']),
  events: z
    .array(
      z.object({
        event: z
          .string()
          .regex(/^[a-z0-9_-]{1,40}\/[\p{Ll}\p{Lo}\p{N}][\p{Ll}\p{Lo}\p{N}._-]{0,119}$/u),
        league: z.string().min(1).max(80),
        home: z.string().min(1).max(80),
        away: z.string().min(1).max(80),
        starts_at: isoTime,
        market: z.string().max(200),
        /** By selection; of a market of two, one history may do for both. */
        histories: z.record(z.string().max(80), z.union([polymarketHistory, kalshiCandles])),
      }),
    )
    .min(1)
    .max(1_000),
})

type File = z.output<typeof fileSchema>
type MarketEvent = File['events'][number]
type History = MarketEvent['histories'][string]

const FEEDS: Readonly<Record<File['exchange'], FeedInfo>> = {
  kalshi: { feed: 'kalshi', isRedistributable: false, isSynthetic: false },
  polymarket: { feed: 'polymarket', isRedistributable: false, isSynthetic: false },
}

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

type Close =
  | { readonly kind: 'close'; readonly prices: EntryPrices }
  | { readonly kind: 'refused'; readonly refusal: Refusal }

function closeOf(
  event: MarketEvent,
  reading: { readonly book: string; readonly receivedAtSeconds: number; readonly place: string },
): Close {
  const { book, place, receivedAtSeconds } = reading
  const refused = (reason: Refusal['reason'], detail: string): Close => ({
    kind: 'refused',
    refusal: { reason, place, detail },
  })
  const parsed = parseWholeMarket(`${event.event}/${event.market}`)
  if (parsed.kind !== 'market') return refused('unknown_market', event.market)
  const startAtSeconds = isoSeconds(event.starts_at) ?? 0
  const named = Object.entries(event.histories)
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
    const other = named.length === 1 ? TWO_SIDED[selection] : undefined
    for (const [side, share] of [
      [selection, quote.yes],
      [other, quote.no],
    ] as const) {
      const price = side === undefined ? undefined : oddsOf(share)
      if (side !== undefined && price !== undefined) odds[side] = price
    }
  }
  if (Object.keys(odds).length === 0) return refused('no_price', 'no price between 0 and 1')
  const market = marketPath(parsed.key)
  const wrong = refuseBook({ market, odds, place })
  return wrong === undefined
    ? { kind: 'close', prices: { market, book, odds, capturedAtSeconds: captured } }
    : { kind: 'refused', refusal: wrong }
}

/** A file of price histories, if the JSON is one. */
export const readPredictionFile = (json: unknown): File | undefined =>
  fileSchema.safeParse(json).data

/** Each event's close at its start, or why there is none. */
export function normalisePredictionMarkets(raw: Uint8Array, receivedAtSeconds: number): Normalised {
  const file = readPredictionFile(parseJson(raw))
  const feed = FEEDS[file?.exchange ?? 'kalshi']
  const refusals: Refusal[] = []
  const observations = (file?.events ?? []).flatMap((event, index) => {
    const place = `events[${index}]`
    const close = closeOf(event, { book: feed.feed, receivedAtSeconds, place })
    if (close.kind === 'refused') {
      refusals.push(close.refusal)
      return []
    }
    const { event: path, league, home, away } = event
    return [
      {
        event: {
          path,
          sport: path.slice(0, path.indexOf('/')),
          league,
          home,
          away,
          startAtSeconds: isoSeconds(event.starts_at) ?? 0,
          startPrecision: 'second' as const,
        },
        rule: 'last_before_start' as const,
        snapshots: [],
        closes: [close.prices],
        closeStatus: 'final' as const,
        outcomes: [],
      },
    ]
  })
  return { feed, observations, refusals, missingPrices: 0 }
}
