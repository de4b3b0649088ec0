import { DECIMAL_ODDS_MAX } from './odds-limits.ts'
import type { Odds, ParsedOdds } from './parsed-odds.ts'

/** The price itself where its decimal value is above 1 and within the limit, else the refusal. */
export function finishOdds(odds: Omit<Odds, 'kind'>): ParsedOdds {
  if (!(odds.decimal > 1)) return { kind: 'refused', reason: 'not_above_one' }
  if (odds.decimal > DECIMAL_ODDS_MAX) return { kind: 'refused', reason: 'above_limit' }
  return { kind: 'odds', format: odds.format, decimal: odds.decimal, text: odds.text }
}
