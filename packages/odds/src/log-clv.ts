import type { TakenAtFairClose } from './taken-at-fair-close.ts'

/** Logarithmic CLV: ln(taken · p). Adds up over picks and treats a price too high and one too low alike. */
export function logClv({ taken, fairProbability }: TakenAtFairClose): number {
  return Math.log(taken * fairProbability)
}
