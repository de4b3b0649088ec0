import { fairClv } from './fair-clv.ts'
import type { MarginMethod } from './margin-removal.ts'
import { removeMargin } from './remove-margin.ts'

/** The methods that always give proper probabilities. */
const METHODS: readonly MarginMethod[] = ['power', 'shin', 'odds_ratio', 'multiplicative']

/**
 * The largest minus the smallest fair CLV of one pick over the four methods that always give probabilities: how much a
 * grade near an edge depends on the method. Undefined where the book is refused or has no such selection.
 */
export function methodSpread(pick: {
  /** Decimal odds taken. */
  readonly taken: number
  /** Closing prices of the whole market. */
  readonly prices: readonly number[]
  /** Position of the selection in `prices`, from 0. */
  readonly selection: number
}): number | undefined {
  let lowest = Infinity
  let highest = -Infinity
  for (const method of METHODS) {
    const removal = removeMargin(pick.prices, method)
    const fairProbability =
      removal.kind === 'fair' ? removal.probabilities[pick.selection] : undefined
    if (fairProbability === undefined) return undefined
    const value = fairClv({ taken: pick.taken, fairProbability })
    lowest = Math.min(lowest, value)
    highest = Math.max(highest, value)
  }
  return highest - lowest
}
