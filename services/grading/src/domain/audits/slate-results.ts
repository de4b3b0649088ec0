/** What the cards of a slate were worth and what they returned, at flat stakes: the parts of all its sums. */
import type { Card, GradedCard, Scoreboard } from '../../wire/cards.ts'
import { priceOf, type SlateCard, stoodOf } from './slate-clusters.ts'

export const isGraded = (entry: SlateCard): entry is SlateCard<GradedCard> =>
  entry.card.outcome === 'GRADED'

/** The value behind a card's band. */
export const gradedValue = ({ clv }: GradedCard): number => clv.fair ?? clv.price

export const settledReturn = (scoreboard: Scoreboard | undefined): number | undefined =>
  scoreboard === undefined || scoreboard.status === 'pending' || scoreboard.status === 'void'
    ? undefined
    : scoreboard.return_units

/** The cards with a result other than void, and what they returned at flat stakes. */
export const settledOf = <Some extends Card>(entries: readonly SlateCard<Some>[]) =>
  entries.flatMap((entry) => {
    const { scoreboard, taken } = entry.card
    const returnUnits = settledReturn(scoreboard)
    if (returnUnits === undefined || taken === undefined || scoreboard === undefined) return []
    return [{ ...entry, odds: priceOf(taken), returnUnits, stood: stoodOf(entry.card) }]
  })

export type FlatResult = ReturnType<typeof settledOf>[number]

export const meanOf = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length

/** What the cards of each event returned: an event is one observation. */
export function returnsByEvent(results: readonly FlatResult[]) {
  const events = Map.groupBy(results, ({ event }) => event)
  return [...events.values()].map((own) => ({ count: own.length, sum: profitOf(own) }))
}

export const profitOf = (results: readonly FlatResult[]): number =>
  results.reduce((sum, { returnUnits }) => sum + returnUnits, 0)
