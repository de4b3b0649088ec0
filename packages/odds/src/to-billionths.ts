/**
 * A value in whole billionths, halves away from zero, never -0: how values are rounded before they are banded or
 * compared. Without it the last bit of a probability decides: 345 of 800 exactly fair books came out below zero.
 */
export function toBillionths(value: number): number {
  const rounded = Math.round(Math.abs(value) * 1e9)
  return value < 0 && rounded !== 0 ? -rounded : rounded
}
