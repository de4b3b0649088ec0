/** The largest absolute difference between two lists by position; Infinity if their lengths differ or a value is NaN. */
export function largestDifference(left: readonly number[], right: readonly number[]): number {
  if (left.length !== right.length) return Infinity
  let largest = 0
  for (const [index, value] of left.entries()) {
    const difference = Math.abs(value - (right[index] ?? Number.NaN))
    if (!(difference <= largest)) largest = difference
    if (Number.isNaN(difference)) return Infinity
  }
  return largest
}
