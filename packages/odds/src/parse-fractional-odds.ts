import { finishOdds } from './finish-odds.ts'
import { greatestCommonDivisor } from './greatest-common-divisor.ts'
import { ODDS_TEXT_CHARACTERS_MAX } from './odds-limits.ts'
import type { ParsedOdds } from './parsed-odds.ts'

/** Profit over stake, each of at most 7 digits without leading zeros; the stake is at least 1. */
const FRACTIONAL_TEXT = /^(0|[1-9]\d{0,6})\/([1-9]\d{0,6})$/

/**
 * Parses fractional odds (profit over stake) such as `6/5`, or `evens` in any case for 1/1. The decimal value is one
 * correctly rounded division. Never throws: whatever is not odds is `refused` with its reason.
 */
export function parseFractionalOdds(input: unknown): ParsedOdds {
  if (typeof input !== 'string') return { kind: 'refused', reason: 'type' }
  if (input.length > ODDS_TEXT_CHARACTERS_MAX) return { kind: 'refused', reason: 'format' }
  const match = FRACTIONAL_TEXT.exec(input.toLowerCase() === 'evens' ? '1/1' : input)
  if (match === null) return { kind: 'refused', reason: 'format' }
  const profit = Number(match[1])
  const stake = Number(match[2])
  if (profit === 0) return { kind: 'refused', reason: 'not_above_one' }
  const divisor = greatestCommonDivisor([profit, stake])
  return finishOdds({
    format: 'fractional',
    decimal: (profit + stake) / stake,
    text: `${profit / divisor}/${stake / divisor}`,
  })
}
