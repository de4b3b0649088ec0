/** Which prices a free look asks about before any payment (G21), without giving away those that may not be shown (G14). */
import { parseDecimalOdds } from '@tallystick/odds'
import type { Card } from '../wire/cards.ts'
import { askedRatio, isFar, productRange, type RecordedRange } from './far-price.ts'
import type { GradingStore } from './grading-store.ts'
import { eventPathOf } from './markets.ts'
import { parseMarket } from './parse-market.ts'
import { DEFAULT_GRADE_OPTIONS } from './pick-request.ts'
import { prepareSelection } from './prepare-selection.ts'

type Store = Pick<GradingStore, 'events' | 'payerTag'>
type Part = { readonly market: string; readonly selection: string; readonly taken: number }

async function rangeOf(store: Store, part: Part): Promise<RecordedRange | undefined> {
  const parsed = parseMarket(part)
  const [state] = await store.events([eventPathOf(part.market)])
  const odds = parseDecimalOdds(part.taken)
  if (state === undefined || parsed.kind !== 'market' || odds.kind !== 'odds') return undefined
  const { key, selection } = parsed
  const options = DEFAULT_GRADE_OPTIONS
  return prepareSelection(state, { kind: 'pick', key, selection, odds, options }).recorded
}

async function isAsked(
  store: Store,
  { market, selection, taken }: Part,
  range: RecordedRange | undefined,
): Promise<boolean> {
  if (range === undefined) return false
  const secret = await store.payerTag(`price ${market} ${selection}`)
  return isFar(taken, range, askedRatio(range, secret))
}

/** Whether the bettor is asked if this was the price; it is asked wherever the card would say that it is far. */
export async function asksPrice(store: Store, card: Card): Promise<boolean> {
  if (card.outcome === 'UNGRADED') return false
  const { close, pick, taken } = card
  const { market, selection } = pick
  const parts = close.legs ?? [{ market, selection, taken: taken.odds }]
  const ranges: RecordedRange[] = []
  for (const part of parts) {
    const range = await rangeOf(store, part)
    if (await isAsked(store, part, range)) return true
    if (range !== undefined) ranges.push(range)
  }
  if (close.rule !== 'product_of_legs' || ranges.length < parts.length) return false
  const name = parts.map((part) => `${part.market} ${part.selection}`).join(' + ')
  return isAsked(store, { market: name, selection, taken: taken.odds }, productRange(ranges))
}
