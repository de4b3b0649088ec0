import type { MarginMethod, Odds } from '@tallystick/odds'
import type { MarketKey } from './market-key.ts'

/** How a grade is asked for. */
export type GradeOptions = {
  /** A book whose close to grade against; else the first of the reference order that has one. */
  readonly reference?: string
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
  readonly placedAtSeconds?: number
  /** Runners in the field when the bet was placed; another number at the close is `field_changed`. */
  readonly fieldSize?: number
  /** The payer's own mark, echoed on the card. */
  readonly ref?: string
  readonly options: GradeOptions
}

/** A well-formed pick whose market may be several. */
export type AmbiguousPick = {
  readonly kind: 'ambiguous'
  /** The market as it was written. */
  readonly market: string
  readonly selection: string
  readonly candidates: readonly string[]
  readonly ref?: string
}

/** A pick that may be charged for: whatever else is wrong with it, the ledger will say UNGRADED. */
export type AskedPick = PickRequest | AmbiguousPick
