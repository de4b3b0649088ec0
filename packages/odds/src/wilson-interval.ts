import { DEVIATIONS_95, type Interval } from './interval.ts'

/**
 * Wilson's score interval (1927) of a share, within 0–1, 95 % by default: for win rates and the rate of beating the
 * close. Good for small samples and shares near 0 or 1. Without trials it is 0 to 1. Throws a RangeError unless
 * 0 ≤ successes ≤ trials.
 */
export function wilsonInterval(
  sample: { readonly successes: number; readonly trials: number },
  deviations: number = DEVIATIONS_95,
): Interval {
  const { successes, trials } = sample
  if (!(successes >= 0 && successes <= trials && trials < Infinity))
    throw new RangeError('successes lie between 0 and the trials')
  if (trials === 0) return { low: 0, high: 1 }
  const share = successes / trials
  const squared = deviations * deviations
  const scale = 1 + squared / trials
  const centre = (share + squared / (2 * trials)) / scale
  const half =
    (deviations / scale) *
    Math.sqrt((share * (1 - share)) / trials + squared / (4 * trials * trials))
  return {
    low: successes === 0 ? 0 : Math.max(0, centre - half),
    high: successes === trials ? 1 : Math.min(1, centre + half),
  }
}
