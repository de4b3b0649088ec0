import { exactOdds } from '../exact-odds.ts'
import type { Odds } from '../parsed-odds.ts'

/** Binary places after the point of the finest double above 1. */
const PLACES = 52

/** Whether no double lies nearer to a price's exact value than the decimal odds that it was given. */
export function isNearestDouble(odds: Odds): boolean {
  const { numerator, denominator } = exactOdds(odds)
  // A double from 1 up times 2^52 is whole, and half the step to its neighbour is a power of two.
  const scaled = BigInt(odds.decimal * 2 ** PLACES)
  const step = BigInt(2 ** Math.floor(Math.log2(odds.decimal)))
  const distance = scaled * denominator - (numerator << BigInt(PLACES))
  return 2n * (distance < 0n ? -distance : distance) <= step * denominator
}
