/** Beyond this the series loses the tail's digits to cancellation and the continued fraction is short. */
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
  // NaN too: the series would never see its terms vanish.
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
