/** Events, observations and picks for tests; a test states only what it is about. */

import { parseOdds } from '@tallystick/odds'
import type { MutableTruth, SettledRow } from '../domain/calibration/truth-table.ts'
import { TruthTally } from '../domain/calibration/truth-tally.ts'
import type { EventInfo } from '../domain/closes/event-state.ts'
import type { IngestBatch } from '../domain/closes/grading-store.ts'
import type { EntryPrices } from '../domain/closes/ledger-entry.ts'
import type { Observation } from '../domain/closes/observation.ts'
import type { FeedInfo } from '../domain/closes/price-log.ts'
import { parseMarket } from '../domain/markets/parse-market.ts'
import {
  DEFAULT_GRADE_OPTIONS,
  type GradeOptions,
  type PickRequest,
} from '../domain/markets/pick-request.ts'

/** 2026-06-01T18:00:00Z, the sample match's start. */
export const START_SECONDS = 1_780_336_800

/** A feed whose prices may be public. */
export const OPEN_FEED: FeedInfo = { feed: 'manual', isRedistributable: true, isSynthetic: false }

/** A match, `soccer/epl.20260601.ars-che` by default. */
export function sampleEvent(over: Partial<EventInfo> = {}): EventInfo {
  return {
    path: 'soccer/epl.20260601.ars-che',
    sport: 'soccer',
    league: 'EPL',
    home: 'Arsenal',
    away: 'Chelsea',
    startAtSeconds: START_SECONDS,
    startPrecision: 'second',
    ...over,
  }
}

/** Prices of a 1X2 market by default: a close of 2.05, 3.55, 3.90 five minutes before the start. */
export function samplePrices(over: Partial<EntryPrices> = {}): EntryPrices {
  return {
    market: '1x2/ft',
    book: 'pinnacle',
    odds: { home: '2.05', draw: '3.55', away: '3.9' },
    capturedAtSeconds: START_SECONDS - 300,
    ...over,
  }
}

/** An observation of the sample event with only the given content. */
export function sampleObservation(over: Partial<Observation> = {}): Observation {
  return {
    event: sampleEvent(),
    rule: 'last_before_start',
    snapshots: [],
    closes: [],
    closeStatus: 'final',
    outcomes: [],
    ...over,
  }
}

/** A soccer match with a close. */
export const sampleMatch = (
  path: string,
  [home, away]: readonly [string, string],
  startAtSeconds: number,
) =>
  sampleObservation({
    event: sampleEvent({ path: `soccer/${path}`, home, away, startAtSeconds }),
    closes: [samplePrices()],
  })

/** A full-time score. */
export const scored = (home: number, away: number): Observation['outcomes'] => [
  { period: 'ft', status: 'final', score: { home, away } },
]

/** A batch of observations. */
export function sampleBatch(
  observations: readonly Observation[],
  over: Partial<IngestBatch> = {},
): IngestBatch {
  return {
    feed: OPEN_FEED,
    // After the match: a result before its start is refused.
    receivedAtSeconds: START_SECONDS + 7_200,
    rawSha256: 'ab'.repeat(32),
    observations,
    ...over,
  }
}

/** A pick on the sample match; throws if a test's market or price is malformed. */
export function samplePick(
  over: {
    readonly market?: string
    readonly selection?: string
    readonly odds?: string | number
    readonly options?: Partial<GradeOptions>
    readonly placedAtSeconds?: number
    readonly fieldSize?: number
  } = {},
): PickRequest {
  const parsed = parseMarket({
    market: over.market ?? 'soccer/epl.20260601.ars-che/1x2/ft',
    selection: over.selection ?? 'home',
  })
  const odds = parseOdds(over.odds ?? '2.20')
  if (parsed.kind !== 'market' || odds.kind !== 'odds')
    throw new Error('the test’s pick is malformed')
  return {
    kind: 'pick',
    key: parsed.key,
    selection: parsed.selection,
    odds,
    options: { ...DEFAULT_GRADE_OPTIONS, ...over.options },
    ...(over.placedAtSeconds === undefined ? {} : { placedAtSeconds: over.placedAtSeconds }),
    ...(over.fieldSize === undefined ? {} : { fieldSize: over.fieldSize }),
  }
}

/** Adds (sign 1) or subtracts (sign -1) an event's rows. */
export function countEvent(
  truth: MutableTruth,
  rows: readonly SettledRow[],
  sign: 1 | -1 = 1,
): void {
  const tally = new TruthTally()
  tally.add(rows, sign)
  tally.mergeInto(truth)
}
