/** The greatest common divisor of two whole numbers of at least 1, by Euclid's algorithm. */
export function greatestCommonDivisor(pair: readonly [number, number]): number {
  let [larger, smaller] = pair
  while (smaller !== 0) [larger, smaller] = [smaller, larger % smaller]
  return larger
}
