/**
 * The cards of an audit as its sums read them: what each was worth and returned at a flat stake, and which depend on each
 * other. Those on one event settle together, and at most one of a market's selections wins.
 */
import type { UncertainBet } from '@tallystick/odds'
import { getOrMake } from '@tallystick/service-kit'
import type { Card, GradedCard, Scoreboard } from '../../wire/cards.ts'
import { eventPathIn, marketShape } from '../markets/markets.ts'
import { readMarketPath } from '../markets/parse-market.ts'
import { cardGroups } from './audit-groups.ts'

/** A card, and what it depends on. */
export type SlateCard<Some extends Card = Card> = Pick<
  UncertainBet,
  'event' | 'market' | 'selection'
> & {
  readonly card: Some
  /** The price as it paid. */
  readonly odds: number
  /** The value behind its band; 0 without one. */
  readonly clv: number
  /** What it returned; undefined without a result, and for a void bet. */
  readonly returnUnits: number | undefined
  /** The share of its stake that was not refunded. */
  readonly stood: number
  /** Its group in each dimension. */
  readonly groups: ReturnType<typeof cardGroups>
}

/** A card with a result other than void. */
export type SettledCard = SlateCard & { readonly returnUnits: number }

export const isGraded = (entry: SlateCard): entry is SlateCard<GradedCard> =>
  entry.card.outcome === 'GRADED'

export const isSettled = <Entry extends SlateCard>(entry: Entry): entry is Entry & SettledCard =>
  entry.returnUnits !== undefined

const settledReturn = (scoreboard: Scoreboard | undefined): number | undefined =>
  scoreboard === undefined || scoreboard.status === 'pending' || scoreboard.status === 'void'
    ? undefined
    : scoreboard.return_units

/** The legs of a parlay or the halves of an each-way bet. */
const legsOn = (card: Card) => (card.outcome === 'GRADED' ? (card.close.legs ?? []) : [])

function eventPaths(card: Card): readonly string[] {
  const legs = legsOn(card)
  return legs.length > 0
    ? legs.map(({ market }) => eventPathIn(market))
    : [eventPathIn(card.pick.market)]
}

/** Each name's root in a forest that `link` grows together. */
function createForest() {
  const parents = new Map<string, string>()
  const findRoot = (name: string): string => {
    let root = name
    for (let next = parents.get(root); next !== undefined; next = parents.get(root)) root = next
    return root
  }
  return {
    rootFor: findRoot,
    link: (first: string, second: string): void => {
      const [left, right] = [findRoot(first), findRoot(second)]
      if (left !== right) parents.set(left, right)
    },
  }
}

/** Selections exclude each other if their prices form one book; two double chances overlap, and so do two places. */
function bookName(card: Card): string | undefined {
  const { market } = card.pick
  const path = market.slice(eventPathIn(market).length + 1)
  if (!path.includes('/') || legsOn(card).length > 0) return undefined
  const { type } = readMarketPath(path)
  return marketShape(type).isOneBook && type !== 'place' ? market : undefined
}

/** A bet of several parts stands whole. */
function stoodShare(card: Card): number {
  const status = card.scoreboard?.status
  if (status === 'push' || status === 'void') return 0
  const isHalf = status === 'half_won' || status === 'half_lost'
  return isHalf && legsOn(card).length === 0 ? 0.5 : 1
}

/** The cards of a slate; a bet across several events merges them into one. */
export function slateCards(cards: readonly Card[]): readonly SlateCard[] {
  const forest = createForest()
  const events = cards.map(eventPaths)
  for (const [first = '', ...others] of events)
    for (const other of others) forest.link(first, other)
  return cards.map((card, place) => {
    const [first = ''] = events[place] ?? []
    const { pick, scoreboard, taken } = card
    return {
      card,
      event: forest.rootFor(first),
      market: bookName(card),
      selection: pick.selection,
      odds: taken?.pays ?? taken?.odds ?? Number.NaN,
      clv: card.outcome === 'GRADED' ? (card.clv.fair ?? card.clv.price) : 0,
      returnUnits: taken && settledReturn(scoreboard),
      stood: stoodShare(card),
      groups: cardGroups(card),
    }
  })
}

export const average = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length

/** What the cards of each event returned: an event is one observation. */
export function returnsByEvent(settled: readonly SettledCard[]) {
  const events = new Map<string | undefined, { count: number; sum: number }>()
  for (const { event, returnUnits } of settled) {
    const sums = getOrMake(events, event, () => ({ count: 0, sum: 0 }))
    sums.count += 1
    sums.sum += returnUnits
  }
  return [...events.values()]
}

export const sumProfit = (settled: readonly SettledCard[]): number =>
  settled.reduce((sum, { returnUnits }) => sum + returnUnits, 0)
