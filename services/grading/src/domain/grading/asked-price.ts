/** Which prices a free look asks about before any payment (G21), without giving away those that may not be shown (G14). */

import { askedRange, isFar, productRange, type RecordedRange } from '../closes/far-price.ts'
import type { GradingStore } from '../closes/grading-store.ts'
import type { PricedCard } from './combined-bets.ts'

type Store = Pick<GradingStore, 'payerTag'>

/** Whether the bettor is asked if this was the price; it is asked wherever the card would say that it is far. */
export async function asksPrice(
  store: Store,
  { card, legs, readRange }: PricedCard,
): Promise<boolean> {
  if (card.outcome === 'UNGRADED') return false
  if (legs === undefined) {
    const recorded = readRange()
    if (recorded === undefined) return false
    return isFar(card.taken.odds, await drawRange(store, card.pick, recorded))
  }
  const ranges: RecordedRange[] = []
  for (const leg of legs) {
    if (await asksPrice(store, leg)) return true
    const recorded = leg.readRange()
    if (recorded !== undefined) ranges.push(await drawRange(store, leg.card.pick, recorded))
  }
  return ranges.length === legs.length && isFar(card.taken.odds, productRange(ranges))
}

async function drawRange(
  store: Store,
  { market, selection }: PricedCard['card']['pick'],
  recorded: RecordedRange,
): Promise<RecordedRange> {
  return askedRange(recorded, await store.payerTag(`price ${market} ${selection}`))
}
