import type { MarginMethod } from '../remove-margin.ts'
import { removeMargin } from '../remove-margin.ts'

/** The probabilities of a book that must be fair; throws if it is not. */
export function fairProbabilities(
  prices: readonly number[],
  method: MarginMethod = 'power',
): readonly number[] {
  const removal = removeMargin(prices, method)
  if (removal.kind !== 'fair')
    throw new Error(`${method} is ${removal.kind} for ${prices.join(' ')}`)
  return removal.probabilities
}
