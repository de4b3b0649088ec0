/**
 * What a feed's normaliser gives: observations of events, prices and results in our words, and refusals with their
 * reasons. Deciding what of it is new, and writing entries, is advance-event.ts.
 */

import type { CloseRule, EventInfo, FeedInfo } from './event-state.ts'
import type { EntryPrices, ObservedOutcome } from './ledger-entry.ts'

/** Everything that one payload says of one event. */
export type Observation = {
  readonly event: EventInfo
  readonly rule: CloseRule
  readonly snapshots: readonly EntryPrices[]
  readonly closes: readonly EntryPrices[]
  /** Status of `closes`. */
  readonly closeStatus: 'provisional' | 'final' | 'void'
  readonly outcomes: readonly ObservedOutcome[]
}

/** Why something in a payload was not taken. */
type RefusalReason =
  | 'malformed_row'
  | 'unknown_market'
  | 'stale_price'
  | 'in_play_price'
  | 'future_price'
  | 'booksum_out_of_range'
  | 'no_price'

/** Something in a payload that was not taken, and where it stands. */
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
  /** Prices that were there but marked as suspended, removed or off the board, or blank beside others. */
  readonly missingPrices: number
}
