/** Which parts of a payload are credible: JSON that parses, plausible prices, in a possible book, at a possible time. */
import { BOOKSUM_MAX, BOOKSUM_MIN, parseDecimalOdds } from '@tallystick/odds'
import { isCompleteBook } from '../domain/closes/apply-entry.ts'
import type { EntryPrices } from '../domain/closes/ledger-entry.ts'
import type { Observation, Refusal } from '../domain/closes/observation.ts'
import type { FeedInfo } from '../domain/closes/price-log.ts'
import { readMarketPath } from '../domain/markets/parse-market.ts'

/** A feed of a market whose terms forbid passing its prices on. */
export const privateFeed = (feed: string): FeedInfo => ({
  feed,
  isRedistributable: false,
  isSynthetic: false,
})

/** JSON in UTF-8 bytes; undefined for anything else. */
export function parseJson(raw: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(raw).toString('utf8'))
  } catch {
    return undefined
  }
}

/** Feeds say "suspended" or "off the board" with a price of 1 or less, a blank, a dash, or an absurdly high price. */
const PRICE_MAX = 1_001

/**
 * A price as canonical decimal text; undefined if the feed has none: blank, suspended (1.00), off the board (0.0001), or
 * not a number. A missing price is never replaced.
 */
export function readPrice(value: string | number | undefined | null): string | undefined {
  const read = parseDecimalOdds(typeof value === 'string' ? value.trim() : value)
  return read.kind === 'odds' && read.decimal <= PRICE_MAX ? read.text : undefined
}

/** What was read from a payload so far. */
export type Reading = {
  readonly observations: Observation[]
  readonly refusals: Refusal[]
  missingPrices: number
}

export const newReading = (): Reading => ({ observations: [], refusals: [], missingPrices: 0 })

/** Prices by selection as canonical text; those that the feed lacks are left out and counted. */
export function readOdds(
  reading: Pick<Reading, 'missingPrices'>,
  written: Iterable<readonly [selection: string, price: string | number | null | undefined]>,
): Record<string, string> {
  const odds: Record<string, string> = {}
  for (const [selection, price] of written) {
    const text = readPrice(price)
    if (text === undefined) reading.missingPrices += 1
    else odds[selection] = text
  }
  return odds
}

/**
 * The prices, unless they cannot belong to one market at one time: a whole book whose inverse prices sum to more than 1.5
 * or less than 0.5 is refused. A book that lacks a price is not judged.
 */
export function acceptBook(
  { refusals }: Pick<Reading, 'refusals'>,
  book: EntryPrices,
  place: string,
): readonly EntryPrices[] {
  const { market, odds } = book
  let sum = 0
  const prices: Record<string, number> = {}
  for (const selection in odds) {
    const price = Number(odds[selection])
    prices[selection] = price
    sum += 1 / price
  }
  // A place market pays several runners.
  if (market.startsWith('place/')) sum /= readMarketPath(market).line ?? 1
  if (sum <= BOOKSUM_MAX && sum >= BOOKSUM_MIN) return [book]
  if (!isCompleteBook(readMarketPath(market).type, prices, book.isWhole)) return [book]
  refusals.push({ reason: 'booksum_out_of_range', place, detail: `${market}: ${sum.toFixed(3)}` })
  return []
}

/** A price older than this at the start is not a close, seconds: The Odds API's own history ticks every 5 to 10 minutes. */
export const CLOSE_AGE_SECONDS_MAX = 900

/** Whether a price was seen close enough before the start, by so many seconds, to be the close. */
export const isCloseAge = (earlySeconds: number): boolean =>
  earlySeconds > 0 && earlySeconds <= CLOSE_AGE_SECONDS_MAX

/** How far a source's clock may be ahead of ours, seconds: nobody can have seen a later price yet. */
export const CLOCK_SKEW_SECONDS_MAX = 60

/** Why a price cannot be used: from the future, taken after the start, or too early to be a close. */
export function refuseTime(
  capturedAtSeconds: number,
  event: {
    readonly startAtSeconds: number
    readonly receivedAtSeconds: number
    readonly isClose: boolean
  },
): Pick<Refusal, 'reason' | 'detail'> | undefined {
  const { isClose, receivedAtSeconds, startAtSeconds } = event
  const ahead = capturedAtSeconds - receivedAtSeconds
  if (ahead > CLOCK_SKEW_SECONDS_MAX)
    return { reason: 'future_price', detail: `${ahead} s after it was received` }
  const early = startAtSeconds - capturedAtSeconds
  if (early <= 0) return { reason: 'in_play_price', detail: `${-early} s after the start` }
  if (isClose && !isCloseAge(early))
    return { reason: 'stale_price', detail: `${early} s before the start` }
  return undefined
}
