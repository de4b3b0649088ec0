/**
 * The documents that a payer gets, as they go over the wire and are stored: a graded card, an ungraded one, an audit.
 * Their member names are their format (snake_case), which is why they differ from the rest of the domain. An ungraded
 * card has no member for a close, a closing-line value or a band: there is nothing to make one up in.
 */
import type { GradeBand, MarginMethod } from '@tallystick/odds'
import type { Scoreboard } from './selection-result.ts'

/** What a grade rests on: the close without its margin, or the selection's closing price alone. */
export type GradeBasis = 'fair' | 'price'

/** Which picks a truth table counts. */
export type Population = 'mechanical' | 'committed'

/** Why a pick has no grade. */
export type UngradedCode =
  | 'no_close_recorded'
  | 'close_not_final'
  | 'close_incomplete'
  | 'selection_not_in_close'
  | 'line_not_recorded'
  | 'ambiguous_market'
  | 'field_changed'
  | 'placed_after_start'

/** Something that a reader should know about a grade. */
export type GradeFlag =
  /** The closing prices sum to less than one: the grade was held at C because the price is below the close. */
  | 'booksum_below_one'
  /** Only the selection's own closing price is recorded. */
  | 'close_incomplete'
  /** The asked method gives no proper probabilities for this close. */
  | 'method_improper'
  /** The start moved by more than a minute after the close was taken. */
  | 'stale_anchor'
  /** Another recorded close of the same market differs by more than 3 %. */
  | 'closes_disagree'
  /** Received after the start: graded, and never counted. */
  | 'received_after_start'
  /** The close was made by our generator, for trying the service out. */
  | 'synthetic'

/** How a band did so far, by the ledger. Percentages are fractions. */
export type CardCalibration = {
  readonly band: GradeBand
  readonly basis: GradeBasis
  readonly population: Population
  /** `all`, or `synthetic` for a made-up close. */
  readonly scope: string
  readonly n: number
  readonly roi: number | null
  readonly roi_ci95: readonly [number, number] | null
  readonly expected_roi: number | null
  readonly low_sample: boolean
  /** Entries that the table counts: entry numbers below this. */
  readonly as_of_seq: number
}

/** The pick as it was understood. */
export type CardPick = {
  readonly market: string
  readonly selection: string
  readonly event?: { readonly home: string; readonly away: string; readonly starts_at: string }
  readonly ref?: string
}

/** The price that was taken. */
export type TakenPrice = {
  /** Decimal. */
  readonly odds: number
  /** The same as canonical text. */
  readonly text: string
  readonly line?: number
}

/** Whether the pick counts in the truth table, and if not why. */
export type CardCounting =
  | { readonly population: 'committed'; readonly seq: number }
  | { readonly population: null; readonly why: NotCountedReason; readonly seq?: number }

/** Why a pick is in no truth table. */
export type NotCountedReason =
  /** Only looked at: an audit, or a grade that is not paid for yet. */
  | 'not_kept'
  | 'received_after_start'
  | 'above_recorded_price'
  | 'no_recorded_price'
  | 'repeated_selection'

/** A pick graded against the close. Fractions: 0.05 is 5 %. */
export type GradedCard = {
  readonly outcome: 'GRADED'
  readonly grade: GradeBand
  readonly basis: GradeBasis
  readonly pick: CardPick
  readonly clv: {
    readonly price: number
    readonly fair?: number
    readonly log?: number
    readonly points?: number
    readonly beat_close: boolean
  }
  readonly taken: TakenPrice
  readonly close: {
    readonly odds: number
    readonly line?: number
    readonly fair_odds?: number
    readonly fair_prob?: number
    readonly booksum?: number
    readonly method?: MarginMethod
    readonly source: { readonly feed: string; readonly book: string; readonly synthetic: boolean }
    readonly captured_at: string | null
    readonly seconds_before_start: number | null
    readonly rule: string
    readonly status: 'final'
    readonly record: { readonly seq: number; readonly hash: string }
  }
  readonly scoreboard: Scoreboard
  readonly calibration: CardCalibration
  /** Largest minus smallest fair CLV over the four methods that always give probabilities. */
  readonly method_spread?: number
  /** Distance to the nearest edge of a band. */
  readonly grade_margin: number
  readonly flags: readonly GradeFlag[]
  readonly summary: string
  readonly counted: CardCounting
  readonly receipt?: string
}

/** A pick that the ledger cannot grade. */
export type UngradedCard = {
  readonly outcome: 'UNGRADED'
  readonly grade: 'UNGRADED'
  readonly pick: CardPick
  /** Left out where the market may be several, so that no result can be told either. */
  readonly taken?: TakenPrice
  readonly reason: {
    readonly code: UngradedCode
    readonly message: string
    /** Keys, lines or books that the ledger does have; never a price. */
    readonly nearest?: readonly string[]
  }
  readonly scoreboard?: Scoreboard
  readonly counted: CardCounting
  readonly summary: string
  readonly receipt?: string
}

/** What a payer gets for a pick. */
export type Card = GradedCard | UngradedCard
