/** Standard deviations on either side of the mean that cover 95 % of a normal distribution. */
export const DEVIATIONS_95 = 1.959963984540054

/** A two-sided interval around an estimate. */
export type Interval = { readonly low: number; readonly high: number }

/** Beyond this the series loses the tail's digits to cancellation, and the continued fraction is short. */
const SERIES_MAX = 3

/** Terms of the continued fraction that give every digit of a double from `SERIES_MAX` on. */
const FRACTION_TERMS = 60

/**
 * The standard normal distribution function Φ(z), 0 to 1, to about 1e-15; small tails to 1e-13 of their size; NaN for
 * NaN. Marsaglia's series (2004) Φ = ½ + φ(z)(z + z³/3 + z⁵/15 + …) within ±3, Laplace's continued fraction of the tail
 * beyond.
 */
export function normalCdf(z: number): number {
  const size = Math.abs(z)
  const density = Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)
  // NaN too: for it, the series' terms would never vanish.
  if (!(size <= SERIES_MAX)) {
    let fraction = size
    for (let term = FRACTION_TERMS; term >= 1; term--) fraction = size + term / fraction
    const tail = density / fraction
    return z < 0 ? tail : 1 - tail
  }
  let sum = z
  let term = z
  for (let odd = 3; sum + term !== sum || odd === 3; odd += 2) {
    term *= (z * z) / odd
    sum += term
    if (term === 0) break
  }
  return 0.5 + density * sum
}

/**
 * The probability that a chi-square of so many degrees of freedom (a whole number above 0) is at least `value`; 1 at 0 and
 * below, NaN for NaN. The closed forms for even and odd degrees (Abramowitz & Stegun 26.4.4, 26.4.5), all terms positive.
 */
export function chiSquareTail(value: number, degrees: number): number {
  if (!(Number.isInteger(degrees) && degrees > 0))
    throw new RangeError('degrees of freedom are a whole number above 0')
  if (value <= 0) return 1
  const isEven = degrees % 2 === 0
  const decay = Math.exp(-value / 2)
  let tail = isEven ? decay : 2 * normalCdf(-Math.sqrt(value))
  let term = isEven ? (decay * value) / 2 : decay * Math.sqrt((2 * value) / Math.PI)
  for (let from = isEven ? 2 : 1; from < degrees; from += 2) {
    tail += term
    term *= value / (from + 2)
  }
  return tail
}

/**
 * Wilson's score interval (1927) of a share, within 0–1, by default 95 %: for win rates and the rate of beating the
 * close. Good for small samples and shares near 0 or 1. Without trials it is 0 to 1. Throws a RangeError unless 0 ≤
 * successes ≤ trials.
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

/**
 * How many picks it takes until an edge of this size stands out from chance: (deviations · deviation / edge)², rounded
 * up; Infinity for no edge. With the spread of one pick's closing-line value (0.082 on real bets), a 3 % edge takes 29
 * picks; with that of its return (1.43), 8,729.
 */
export function picksNeeded(
  sample: {
    /** The edge to detect, a fraction. */
    readonly edge: number
    /** Standard deviation of one pick's value or return. */
    readonly deviation: number
  },
  deviations: number = DEVIATIONS_95,
): number {
  return Math.ceil(((deviations * sample.deviation) / sample.edge) ** 2)
}
