import { DEVIATIONS_95 } from './interval.ts'

/**
 * How many picks it takes until an edge of this size stands out from chance: (deviations · deviation / edge)², rounded up;
 * Infinity for no edge. With the spread of one pick's closing-line value (0.082 on real bets) a 3 % edge takes 29 picks,
 * with that of its return (1.43) 8,729.
 */
export function picksNeeded(
  sample: {
    /** The edge to be seen, a fraction. */
    readonly edge: number
    /** Standard deviation of one pick's value or return. */
    readonly deviation: number
  },
  deviations: number = DEVIATIONS_95,
): number {
  return Math.ceil(((deviations * sample.deviation) / sample.edge) ** 2)
}
