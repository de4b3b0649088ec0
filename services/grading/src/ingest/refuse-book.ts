import { BOOKSUM_MAX, BOOKSUM_MIN } from '@tallystick/odds'
import { isCompleteBook } from '../domain/apply-entry.ts'
import type { Refusal } from '../domain/observation.ts'

/**
 * Why a whole book of prices cannot be one market at one time: its inverse prices sum to more than 1.5 or less than 0.5.
 * A book with a price missing is not judged.
 */
export function refuseBook(book: {
  readonly market: string
  readonly odds: Readonly<Record<string, string>>
  readonly isWhole?: boolean
  readonly place: string
}): Refusal | undefined {
  const { market, odds, place } = book
  let sum = 0
  const prices: Record<string, number> = {}
  for (const selection in odds) {
    const price = Number(odds[selection])
    prices[selection] = price
    sum += 1 / price
  }
  if (sum <= BOOKSUM_MAX && sum >= BOOKSUM_MIN) return undefined
  const isWhole = book.isWhole === true
  if (!isCompleteBook(prices, { market, isWhole })) return undefined
  return { reason: 'booksum_out_of_range', place, detail: `${market}: ${sum.toFixed(3)}` }
}
