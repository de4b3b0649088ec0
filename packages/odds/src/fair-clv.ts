import type { TakenAtFairClose } from './taken-at-fair-close.ts'

/**
 * Fair CLV, a fraction: taken · p - 1, the expected profit per unit staked at the close without its margin. Realised
 * return follows it one to one over 267,982 bets (slope 1.03); it is what `gradeBand` takes.
 */
export function fairClv({ taken, fairProbability }: TakenAtFairClose): number {
  return taken * fairProbability - 1
}
