import type { Figure } from './figure.ts'
import { measureCareMcp } from './suites/care-mcp.ts'
import { measureOdds } from './suites/odds.ts'

/** What there is to measure, by name. */
export const SUITES: Readonly<Record<string, () => Promise<readonly Figure[]>>> = {
  odds: measureOdds,
  'care-mcp': measureCareMcp,
}
