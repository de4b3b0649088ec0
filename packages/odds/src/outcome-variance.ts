/**
 * How far the profit of flat stakes may stray from its expectation: exact for each bet, pushes and half results included,
 * and among selections of one market, since at most one wins. How two markets of one event correlate is
 * unknown: they count as if they always won and lost together, which is an upper bound.
 */

/** One bet of a flat stake. */
export type UncertainBet = {
  /** Decimal odds taken. */
  readonly odds: number
  /** Probability that the part of the stake that stands wins, 0–1. */
  readonly probability: number
  /** Share of the stake that was not refunded: 1 (default), 0.5 for a half result, 0 for a push. */
  readonly stood?: number | undefined
  /** The event that settles it; bets without one each count as an event of their own. */
  readonly event?: string | undefined
  /** One book of the event, whose selections exclude each other; without it only the event is known. */
  readonly market?: string | undefined
  /** The selection backed in that market. */
  readonly selection?: string | undefined
}

/** A bet whose probability is asked of another. */
type PlacedBet = Omit<UncertainBet, 'probability'>

/** Sums over bets on one selection: the means of what they pay, and the standard deviations, which add up. */
type SelectionSums = { mean: number; deviation: number }

/** The variance of a market's bets: bets on one selection move together, two selections against each other. */
function marketVariance<Bet extends PlacedBet>(
  bets: readonly Bet[],
  chance: (bet: Bet) => number,
): number {
  const [alone, second] = bets
  if (alone !== undefined && second === undefined) {
    const probability = chance(alone)
    return ((alone.stood ?? 1) * alone.odds) ** 2 * Math.max(0, probability * (1 - probability))
  }
  const selections = new Map<string, SelectionSums>()
  let mean = 0
  for (const bet of bets) {
    const { odds, selection = '', stood = 1 } = bet
    const probability = chance(bet)
    const paid = stood * odds
    const sums = selections.get(selection) ?? { mean: 0, deviation: 0 }
    selections.set(selection, sums)
    sums.mean += paid * probability
    sums.deviation += paid * Math.sqrt(Math.max(0, probability * (1 - probability)))
    mean += paid * probability
  }
  let variance = -mean * mean
  for (const sums of selections.values()) variance += sums.deviation ** 2 + sums.mean ** 2
  // A whole book backed at its own prices has no variance; rounding may make it negative.
  return Math.max(0, variance)
}

/** Groups by a name; an item without one is a group of its own. */
export function groupedBy<Item>(
  items: readonly Item[],
  toName: (item: Item) => string | undefined,
): readonly (readonly Item[])[] {
  return [...Map.groupBy(items, (item) => toName(item) ?? Symbol('alone')).values()]
}

/**
 * The variance of the profit of one unit on each bet, given what was refunded: a bet that stands returns odds - 1 with its
 * probability and -1 otherwise; half the stake stands in a half result, none in a push. Different events are independent.
 */
export const profitVariance = (bets: readonly UncertainBet[]): number =>
  varianceAt(bets, ({ probability }) => probability)

/** The same of bets that win with the chance that is read from them. */
export function varianceAt<Bet extends PlacedBet>(
  bets: readonly Bet[],
  chance: (bet: Bet) => number,
): number {
  let variance = 0
  for (const event of groupedBy(bets, (bet) => bet.event)) {
    let deviation = 0
    for (const market of event.length === 1 ? [event] : groupedBy(event, (bet) => bet.market))
      deviation += Math.sqrt(marketVariance(market, chance))
    variance += deviation * deviation
  }
  return variance
}

/**
 * How many independent observations a list of events is worth (Kish 1965): n² / Σ n_g², as many as there are events if all
 * occur equally often, 1 if there is only one. `undefined` is an event of its own.
 */
export function effectiveCount(events: readonly (string | undefined)[]): number {
  let squares = 0
  for (const { length } of groupedBy(events, (event) => event)) squares += length * length
  return squares === 0 ? 0 : (events.length * events.length) / squares
}
