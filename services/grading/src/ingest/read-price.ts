import { parseDecimalOdds } from '@tallystick/odds'

/** A price of 1 or less, blank or dashed is how feeds say "suspended" or "off the board"; so is an absurdly high one. */
const PRICE_MAX = 1_001

/**
 * A price as canonical decimal text; undefined where the feed means that there is none: blank, suspended (1.00), off the
 * board (0.0001), or no number at all. A missing price is never replaced.
 */
export function readPrice(value: string | number | undefined | null): string | undefined {
  const read = parseDecimalOdds(typeof value === 'string' ? value.trim() : value)
  return read.kind === 'odds' && read.decimal <= PRICE_MAX ? read.text : undefined
}
