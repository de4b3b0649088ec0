import type { Figure } from './figure.ts'
import { measureCareMcp } from './suites/care-mcp.ts'
import { measureCareStreams } from './suites/care-streams.ts'
import { measureCareVerify } from './suites/care-verify.ts'
import { measureCareWrite } from './suites/care-write.ts'
import { measureOdds } from './suites/odds.ts'
import { measureX402Challenge } from './suites/x402-challenge.ts'

/** What there is to measure, by name, in the order of the table. */
export const SUITES: Readonly<Record<string, () => Promise<readonly Figure[]>>> = {
  'care-mcp': measureCareMcp,
  'care-streams': measureCareStreams,
  'care-write': measureCareWrite,
  'care-verify': measureCareVerify,
  odds: measureOdds,
  'x402-challenge': measureX402Challenge,
}
