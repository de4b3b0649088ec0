import type { Figure } from './figure.ts'
import type { FigureValues } from './suite-result.ts'
import { accessCostsLikeTestnet, measureAccessCosts } from './suites/access-costs.ts'
import { accessGuardLikeTestnet, measureAccessGuard } from './suites/access-guard.ts'
import { accessLeasesLikeTestnet, measureAccessLeases } from './suites/access-leases.ts'
import { accessMeteringLikeTestnet, measureAccessMetering } from './suites/access-metering.ts'
import { accessRenewalLikeTestnet, measureAccessRenewal } from './suites/access-renewal.ts'
import { accessSlowRelayLikeTestnet, measureAccessSlowRelay } from './suites/access-slow-relay.ts'
import { measureCareEvents } from './suites/care-events.ts'
import { measureCareGrowth } from './suites/care-growth.ts'
import { measureCareMcp } from './suites/care-mcp.ts'
import { measureCareStreams } from './suites/care-streams.ts'
import { measureCareVerify } from './suites/care-verify.ts'
import { measureCareWall } from './suites/care-wall.ts'
import { measureCareWrite } from './suites/care-write.ts'
import { measureDevnetLoad } from './suites/devnet-load.ts'
import { measureGrading } from './suites/grading.ts'
import { measureGradingScale } from './suites/grading-scale.ts'
import { measureJournal } from './suites/journal.ts'
import { measureOdds } from './suites/odds.ts'
import { measureProcesses } from './suites/processes.ts'
import { measureScrape } from './suites/scrape.ts'
import { challengeLikeTestnet, measureX402Challenge } from './suites/x402-challenge.ts'
import { measureX402Gate } from './suites/x402-gate.ts'
import { measureX402Paid, paidLikeTestnet } from './suites/x402-paid.ts'
import { measureX402Verify } from './suites/x402-verify.ts'

/** All suites by name, in table order. */
export const SUITES: Readonly<Record<string, () => Promise<readonly Figure[]>>> = {
  'care-mcp': measureCareMcp,
  'care-streams': measureCareStreams,
  'care-write': measureCareWrite,
  'care-events': measureCareEvents,
  'care-verify': measureCareVerify,
  'care-growth': measureCareGrowth,
  'care-wall': measureCareWall,
  journal: measureJournal,
  processes: measureProcesses,
  odds: measureOdds,
  grading: measureGrading,
  'grading-scale': measureGradingScale,
  'x402-challenge': measureX402Challenge,
  'x402-gate': measureX402Gate,
  'x402-paid': measureX402Paid,
  'x402-verify': measureX402Verify,
  'access-guard': measureAccessGuard,
  'access-metering': measureAccessMetering,
  'access-leases': measureAccessLeases,
  'access-slow-relay': measureAccessSlowRelay,
  'access-renewal': measureAccessRenewal,
  'access-costs': measureAccessCosts,
  scrape: measureScrape,
  'devnet-load': measureDevnetLoad,
}

/** The values of access's figures on a network as slow and as late as the public one, by suite. */
export const LIKE_TESTNET: Readonly<Record<string, () => Promise<FigureValues>>> = {
  'x402-challenge': challengeLikeTestnet,
  'x402-paid': paidLikeTestnet,
  'access-guard': accessGuardLikeTestnet,
  'access-metering': accessMeteringLikeTestnet,
  'access-leases': accessLeasesLikeTestnet,
  'access-slow-relay': accessSlowRelayLikeTestnet,
  'access-renewal': accessRenewalLikeTestnet,
  'access-costs': accessCostsLikeTestnet,
}
