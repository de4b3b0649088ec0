import type { TakenAtFairClose } from './taken-at-fair-close.ts'

/** CLV in probability: p - 1 / taken, how much likelier the selection is than the price taken needs it to be. */
export function pointsClv({ taken, fairProbability }: TakenAtFairClose): number {
  return fairProbability - 1 / taken
}
