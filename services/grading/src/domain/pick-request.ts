import type { MarginMethod, Odds } from '@tallystick/odds'
import type { MarketKey } from './markets.ts'

export type GradeOptions = {
  /** A book whose close to grade against; else the first of the reference order that has one. */
  readonly reference?: string | undefined
  readonly method: MarginMethod
  readonly basis: 'auto' | 'fair' | 'price'
}

/** What is graded when nothing else is asked, and how the truth table is counted. */
export const DEFAULT_GRADE_OPTIONS: GradeOptions = { method: 'power', basis: 'auto' }

/** A well-formed pick whose market is one key. */
export type PickRequest = {
  readonly kind: 'pick'
  readonly key: MarketKey
  readonly selection: string
  readonly odds: Odds
  readonly placedAtSeconds?: number | undefined
  /** Runners in the field when the bet was placed; another number at the close is `field_changed`. */
  readonly fieldSize?: number | undefined
  /** The payer's own mark, echoed on the card. */
  readonly ref?: string | undefined
  readonly options: GradeOptions
}

/** A well-formed pick whose market may be several. */
export type AmbiguousPick = {
  readonly kind: 'ambiguous'
  /** The market as it was written. */
  readonly market: string
  readonly selection: string
  readonly candidates: readonly string[]
  readonly ref?: string | undefined
}

/** A pick that may be charged for: whatever else is wrong with it, the ledger will say UNGRADED. */
export type AskedPick = PickRequest | AmbiguousPick
