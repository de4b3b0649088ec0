import { finishOdds } from './finish-odds.ts'
import { ODDS_TEXT_CHARACTERS_MAX } from './odds-limits.ts'
import type { ParsedOdds } from './parsed-odds.ts'

/** Digits, at most 7 before the point and 16 after it; no sign, exponent, comma, space or leading zero. */
const DECIMAL_TEXT = /^(0|[1-9]\d{0,6})(?:\.(\d{1,16}))?$/

/**
 * Parses decimal odds (total return per unit staked), as a number or as text such as `2.10`. A number stands for its
 * shortest decimal text, as in JSON. Never throws: whatever is not odds is `refused` with its reason.
 */
export function parseDecimalOdds(input: unknown): ParsedOdds {
  if (typeof input === 'number') {
    if (!Number.isFinite(input)) return { kind: 'refused', reason: 'not_finite' }
    return finishOdds({ format: 'decimal', decimal: input, text: String(input) })
  }
  if (typeof input !== 'string') return { kind: 'refused', reason: 'type' }
  const match = input.length <= ODDS_TEXT_CHARACTERS_MAX ? DECIMAL_TEXT.exec(input) : null
  if (match === null) return { kind: 'refused', reason: 'format' }
  const places = (match[2] ?? '').replace(/0+$/, '')
  const text = places === '' ? (match[1] ?? '') : `${match[1]}.${places}`
  return finishOdds({ format: 'decimal', decimal: Number(text), text })
}
