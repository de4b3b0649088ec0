/** Markets read of late, by the text that they came as: many people ask for the same ones, and reading one costs a third of a grade. */
import { type ParsedMarket, parseMarket } from './parse-market.ts'

/** Markets with their selections that are kept, below 1 kB each; then it begins anew. */
const KNOWN_MAX = 8_192

const known = new Map<string, Map<string, ParsedMarket>>()
let size = 0

/** What parseMarket says; for a market that was read of late the very same key, so that what is known of it is found by it. */
export function knownMarket(pick: Parameters<typeof parseMarket>[0]): ParsedMarket {
  const { market, selection, line } = pick
  if (typeof market !== 'string' || line !== undefined) return parseMarket(pick)
  const found = known.get(market)?.get(selection)
  if (found !== undefined) return found
  const parsed = parseMarket(pick)
  if (parsed.kind !== 'market') return parsed
  if (size >= KNOWN_MAX) {
    known.clear()
    size = 0
  }
  const bySelection = known.get(market) ?? new Map<string, ParsedMarket>()
  known.set(market, bySelection.set(selection, parsed))
  size += 1
  return parsed
}
