import type { MarginMethod, Odds } from '@tallystick/odds'
import type { GradeFlag, OwnRecord } from '../../wire/cards.ts'
import type { MarketKey } from './markets.ts'

/** What a bettor's record says besides the bet. An audit compares it with the cards; nothing that grades reads it (G22). */
type WithOwnRecord = { readonly own?: OwnRecord | undefined }

/** Says that a price far from anything recorded was the bet's (G21). */
type Confirmable = { readonly isConfirmed?: boolean | undefined }

type Said = WithOwnRecord & Confirmable

export type GradeOptions = {
  /** The book whose close to grade against; without it, the first in the reference order that has one. */
  readonly reference?: string | undefined
  readonly method: MarginMethod
  readonly basis: 'auto' | 'fair' | 'price'
}

/** The default for grades, and how the truth table is counted. */
export const DEFAULT_GRADE_OPTIONS: GradeOptions = { method: 'power', basis: 'auto' }

export type FoundBy = Extract<GradeFlag, 'inferred_start' | 'sides_turned'>

/** A well-formed pick whose market is one key. */
export type PickRequest = Said & {
  readonly kind: 'pick'
  readonly key: MarketKey
  readonly selection: string
  readonly odds: Odds
  readonly placedAtSeconds?: number | undefined
  /** Whether only the day is known on which the bet was placed: `placedAtSeconds` is its midnight UTC. */
  readonly isPlacedDay?: boolean | undefined
  /** The clock of a bet without a zone, read as UTC, Unix seconds. */
  readonly placedClockSeconds?: number | undefined
  /** Midnight UTC of the event's day, Unix seconds; it narrows team names. */
  readonly daySeconds?: number | undefined
  /** The event's start as the bet's record has it, Unix seconds; without a zone, its clock read as UTC. */
  readonly startsAt?: { readonly atSeconds: number; readonly hasZone: boolean } | undefined
  /** The event's league as the bet's record names it: a match of another league is never taken. */
  readonly league?: string | undefined
  /** Whether the names may stand in either order: the backed team is named, and the market is turned with the sides. */
  readonly isEitherOrder?: boolean | undefined
  /** How the event was found, where the card says so. */
  readonly foundBy?: readonly FoundBy[] | undefined
  /** An each-way bet: half of the stake to win, half on a finish in these places at this share of the odds. */
  readonly eachWay?: { readonly places: number; readonly fraction: number } | undefined
  /** Shares that withdrawals deduct: of the profit (Rule 4), or of the whole price (an exchange's win markets). */
  readonly deductions?: { readonly ofProfit: number; readonly ofPrice: number } | undefined
  /** Runners in the field when the bet was placed; if the close has another number, the pick is `field_changed`. */
  readonly fieldSize?: number | undefined
  /** The payer's own mark, echoed on the card. */
  readonly ref?: string | undefined
  readonly options: GradeOptions
}

/** One answer to which match a bet's names mean. */
export type MatchChoice = {
  /** The match, for people. */
  readonly label: string
  readonly market: string
  readonly selection: string
}

/** A well-formed pick whose market is ambiguous. */
export type AmbiguousPick = WithOwnRecord & {
  readonly kind: 'ambiguous'
  /** The market as written. */
  readonly market: string
  readonly selection: string
  readonly candidates: readonly string[]
  /** The bet on each match that its names may mean. */
  readonly choices?: readonly MatchChoice[]
  readonly ref?: string | undefined
}

/** One pick of one event. */
export type SinglePick = PickRequest | AmbiguousPick

/** Picks that must all win (G18). */
export type Parlay = Said & {
  readonly kind: 'parlay'
  readonly legs: readonly SinglePick[]
  /** The price of the whole; if it is confirmed, so are those of its legs. */
  readonly odds: Odds
  readonly ref?: string | undefined
  readonly options: GradeOptions
}

/** A pick that may be charged for: any fault found later makes it UNGRADED. */
export type AskedPick = SinglePick | Parlay

/** The picks of single events that a pick is made of. */
export const legsIn = (pick: AskedPick): readonly SinglePick[] =>
  pick.kind === 'parlay' ? pick.legs : [pick]
