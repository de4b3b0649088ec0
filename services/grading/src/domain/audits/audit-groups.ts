/** By what an audit is broken down, from what a card shows. The audit's page names the groups in the same way. */
import type { Card } from '../../wire/cards.ts'

/** Ranges of the price taken, by their lower ends. */
const ODDS_RANGES = [
  [5, '5 and longer'],
  [3, '3 to 5'],
  [2, '2 to 3'],
  [1.5, '1.5 to 2'],
  [1, 'under 1.5'],
] as const

const UNKNOWN = 'unknown'

/** A card's group in each dimension. */
export function cardGroups({ pick, taken }: Card) {
  const [sport = '', , type = sport] = pick.market.split('/')
  const price = taken?.pays ?? taken?.odds
  return {
    sport,
    market: type,
    book: pick.own?.book ?? UNKNOWN,
    month: pick.event?.starts_at.slice(0, 7) ?? UNKNOWN,
    odds: ODDS_RANGES.find(([from]) => price !== undefined && price >= from)?.[1] ?? UNKNOWN,
  }
}

export const DIMENSIONS = ['sport', 'market', 'book', 'month', 'odds'] as const
