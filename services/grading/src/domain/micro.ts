/** Sums of returns and values are kept in whole millionths, so that taking one back leaves exactly what was there before. */
export const MICRO = 1_000_000

/** A fraction in whole millionths, halves away from zero, never -0. */
export function toMicro(value: number): number {
  const rounded = Math.round(Math.abs(value) * MICRO)
  return value < 0 && rounded !== 0 ? -rounded : rounded
}
