/**
 * What a feed's normaliser returns: observations of events, prices and results in our terms, and refusals with their
 * reasons. advance-event.ts decides what is new and writes entries.
 */

import type { CloseRule, EventInfo } from './event-state.ts'
import type { EntryPrices, ObservedOutcome } from './ledger-entry.ts'
import type { FeedInfo } from './price-log.ts'

/** Everything one payload says about one event. */
export type Observation = {
  readonly event: EventInfo
  readonly rule: CloseRule
  readonly snapshots: readonly EntryPrices[]
  readonly closes: readonly EntryPrices[]
  /** Status of `closes`. */
  readonly closeStatus: 'provisional' | 'final' | 'void'
  readonly outcomes: readonly ObservedOutcome[]
}

/** Why a part of a payload was refused. */
type RefusalReason =
  | 'malformed_row'
  /** The source says that the match was not played, or not to its end. */
  | 'not_played'
  | 'unknown_market'
  | 'stale_price'
  | 'in_play_price'
  | 'future_price'
  | 'booksum_out_of_range'
  | 'no_price'
  | 'after_result'
  | 'result_before_start'

/** A refused part of a payload, and where it is. */
export type Refusal = {
  readonly reason: RefusalReason
  /** `line 17`, or a path such as `[3].bookmakers[0].markets[1]`. */
  readonly place: string
  readonly detail: string
}

export type Normalised = {
  readonly feed: FeedInfo
  readonly observations: readonly Observation[]
  readonly refusals: readonly Refusal[]
  /** Prices marked as suspended, removed or off the board, or blank beside others. */
  readonly missingPrices: number
  /** Columns of a table that are not read, by their names. */
  readonly ignoredColumns?: readonly string[]
}
