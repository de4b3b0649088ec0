/** What `/api/coverage` takes and answers: whether a close is recorded, never a price. */

/** A key, or what a person knows of an event. */
export type CoverageQuery =
  | { readonly kind: 'key'; readonly market: string }
  | {
      readonly kind: 'search'
      readonly sport?: string
      /** Unix seconds of the day's midnight, UTC. */
      readonly daySeconds?: number
      readonly text: string
    }

/** `final`: gradable now; `pending`: before the close; `none`: not recorded. */
export type CoverageStatus = 'final' | 'pending' | 'none'

/** A market and whether it can be graded. */
export type CoveredMarket = { readonly market: string; readonly close: CoverageStatus }

/** An event that fits, with its markets. */
export type CoveredEvent = {
  readonly event: string
  readonly home: string
  readonly away: string
  readonly starts_at: string
  readonly start_precision: 'second' | 'day'
  readonly synthetic: boolean
  readonly result: 'final' | 'void' | 'pending'
  readonly markets: readonly CoveredMarket[]
}

/** What coverage answers. */
export type CoverageAnswer = {
  readonly close: CoverageStatus
  /** The keys that were found, best first. */
  readonly candidates: readonly CoveredEvent[]
}
