import { finishOdds } from './finish-odds.ts'
import { ODDS_TEXT_CHARACTERS_MAX } from './odds-limits.ts'
import type { ParsedOdds } from './parsed-odds.ts'

/** An optional sign (the typographic minus as well) and at most 9 digits, no leading zero; decimals do not occur. */
const AMERICAN_TEXT = /^([+\-\u2212]?)([1-9]\d{0,8})$/

/**
 * Parses American odds: `+150` wins 150 on a stake of 100, `-110` wins 100 on a stake of 110. A whole number, and text
 * without a sign, are read as positive where they are. The decimal value is one correctly rounded division. Never
 * throws: whatever is not odds is `refused` with its reason.
 */
export function parseAmericanOdds(input: unknown): ParsedOdds {
  if (typeof input === 'number' && !Number.isFinite(input))
    return { kind: 'refused', reason: 'not_finite' }
  if (typeof input !== 'number' && typeof input !== 'string')
    return { kind: 'refused', reason: 'type' }
  const text = String(input)
  if (text.length > ODDS_TEXT_CHARACTERS_MAX) return { kind: 'refused', reason: 'format' }
  const match = AMERICAN_TEXT.exec(text)
  if (match === null) return { kind: 'refused', reason: 'format' }
  const money = Number(match[2])
  if (money < 100) return { kind: 'refused', reason: 'american_below_100' }
  const isFavourite = (match[1] === '-' || match[1] === '\u2212') && money > 100
  return finishOdds({
    format: 'american',
    decimal: isFavourite ? (money + 100) / money : (money + 100) / 100,
    text: `${isFavourite ? '-' : '+'}${money}`,
  })
}
