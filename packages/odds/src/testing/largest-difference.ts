/** The largest absolute difference between two lists by position; Infinity if their lengths differ or a value is NaN. */
export function largestDifference(one: readonly number[], other: readonly number[]): number {
  if (one.length !== other.length) return Infinity
  let largest = 0
  for (const [index, value] of one.entries()) {
    const difference = Math.abs(value - (other[index] ?? Number.NaN))
    if (!(difference <= largest)) largest = difference
    if (Number.isNaN(difference)) return Infinity
  }
  return largest
}
