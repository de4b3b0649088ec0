/** A third of them halve the interval: more often than a double has binary digits. */
const EVALUATIONS_MAX = 200

/** No value comes closer to zero: the functions here are differences of probabilities, whose last bit is larger. */
const VALUE_AT_REST = 1e-16

/** Where to search for the zero of an increasing function. */
type RootSearch = {
  readonly low: number
  readonly high: number
  /** Increasing and continuous between low and high. */
  readonly valueAt: (at: number) => number
}

/**
 * The zero of an increasing function between two bounds, to the last digits of a double, or undefined if it has none
 * there. False position in the Illinois form; bisects on every third step, and whenever the chord leaves the interval.
 */
export function findRoot({ low, high, valueAt }: RootSearch): number | undefined {
  let [lower, upper] = [low, high]
  let [valueLower, valueUpper] = [valueAt(lower), valueAt(upper)]
  if (!(valueLower <= 0 && valueUpper >= 0)) return undefined
  let lastSide = 0
  for (let taken = 0; taken < EVALUATIONS_MAX; taken++) {
    const width = upper - lower
    const middle = lower + width / 2
    if (middle <= lower || middle >= upper) return middle
    const chord = upper - (valueUpper * width) / (valueUpper - valueLower)
    const at = chord > lower && chord < upper && taken % 3 !== 2 ? chord : middle
    const value = valueAt(at)
    if (value === 0) return at
    if (value < 0) {
      lower = at
      valueLower = value
      if (lastSide < 0) valueUpper /= 2
      lastSide = -1
    } else {
      upper = at
      valueUpper = value
      if (lastSide > 0) valueLower /= 2
      lastSide = 1
    }
    if (Math.abs(value) < VALUE_AT_REST) return at
  }
  return lower + (upper - lower) / 2
}
