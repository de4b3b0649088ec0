/**
 * Which cards of an audit depend on each other, from the cards alone: those on one event settle together, and at most one of
 * a market's selections wins.
 */
import type { UncertainBet } from '@tallystick/odds'
import type { Card, TakenPrice } from '../../wire/cards.ts'
import { eventPathOf, marketShape } from '../markets/markets.ts'
import { readMarketPath } from '../markets/parse-market.ts'

/** A card and what it depends on. */
export type SlateCard<Some extends Card = Card> = Pick<
  UncertainBet,
  'event' | 'market' | 'selection'
> & {
  readonly card: Some
}

/** The legs of a parlay or the halves of an each-way bet. */
const legsOn = (card: Card) => (card.outcome === 'GRADED' ? (card.close.legs ?? []) : [])

function eventsOf(card: Card): readonly string[] {
  const legs = legsOn(card)
  return legs.length > 0
    ? legs.map(({ market }) => eventPathOf(market))
    : [eventPathOf(card.pick.market)]
}

/** Each name's root in a forest that `link` grows together. */
function createForest() {
  const parents = new Map<string, string>()
  const rootOf = (name: string): string => {
    let root = name
    for (let next = parents.get(root); next !== undefined; next = parents.get(root)) root = next
    return root
  }
  return {
    rootOf,
    link: (first: string, second: string): void => {
      const [left, right] = [rootOf(first), rootOf(second)]
      if (left !== right) parents.set(left, right)
    },
  }
}

/** Selections exclude each other if their prices form one book; two double chances overlap, and so do two places. */
function bookOf(card: Card): string | undefined {
  const { market } = card.pick
  const path = market.slice(eventPathOf(market).length + 1)
  if (!path.includes('/') || legsOn(card).length > 0) return undefined
  const { type } = readMarketPath(path)
  return marketShape(type).isOneBook && type !== 'place' ? market : undefined
}

/** The cards with their events; a bet across several events merges them into one. */
export function clustered<Some extends Card>(cards: readonly Some[]): readonly SlateCard<Some>[] {
  const forest = createForest()
  for (const card of cards) {
    const [first = '', ...others] = eventsOf(card)
    for (const other of others) forest.link(first, other)
  }
  return cards.map((card) => {
    const [first = ''] = eventsOf(card)
    const { selection } = card.pick
    return { card, event: forest.rootOf(first), market: bookOf(card), selection }
  })
}

/** The share of a settled card's stake that was not refunded; a bet of several parts counts whole. */
export function stoodOf(card: Card): number {
  const status = card.scoreboard?.status
  if (status === 'push' || status === 'void') return 0
  const isHalf = status === 'half_won' || status === 'half_lost'
  return isHalf && legsOn(card).length === 0 ? 0.5 : 1
}

/** The price as it paid. */
export const priceOf = ({ odds, pays }: TakenPrice): number => pays ?? odds
