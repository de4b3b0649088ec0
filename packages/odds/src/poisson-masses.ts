/**
 * Poisson probabilities of 0 to `most` events at a mean above 0, by p(k) = p(k - 1) · mean / k. What lies above `most`
 * is left out: choose it so that the tail does not matter.
 */
export function poissonMasses(poisson: {
  readonly mean: number
  readonly most: number
}): readonly number[] {
  const masses: number[] = []
  let mass = Math.exp(-poisson.mean)
  for (let count = 0; count <= poisson.most; count++) {
    if (count > 0) mass *= poisson.mean / count
    masses.push(mass)
  }
  return masses
}
