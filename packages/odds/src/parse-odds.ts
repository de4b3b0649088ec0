import { parseAmericanOdds } from './parse-american-odds.ts'
import { parseDecimalOdds } from './parse-decimal-odds.ts'
import { parseFractionalOdds } from './parse-fractional-odds.ts'
import type { ParsedOdds } from './parsed-odds.ts'

/**
 * Parses a price in any of the three notations, told apart by how it is written: a leading sign is American, a slash or
 * `evens` fractional, anything else decimal, so `110` is decimal and `+110` American. A number is decimal odds. Never
 * throws: whatever is not odds is `refused` with its reason.
 */
export function parseOdds(input: unknown): ParsedOdds {
  if (typeof input !== 'string') return parseDecimalOdds(input)
  const first = input.charAt(0)
  if (first === '+' || first === '-' || first === '\u2212') return parseAmericanOdds(input)
  if (first === 'e' || first === 'E' || input.includes('/')) return parseFractionalOdds(input)
  return parseDecimalOdds(input)
}
