/** The audit's answer, as it goes over the wire (snake_case). Every number in it can be recomputed from its cards. */
import type { GradeBand } from '@tallystick/odds'
import type { Card, UngradedCode } from './card.ts'

/** Flat-stake results of picks with a recorded outcome. */
export type AuditRecord = {
  readonly won: number
  readonly lost: number
  readonly push: number
  readonly void: number
  readonly half_won: number
  readonly half_lost: number
  readonly dead_heat: number
  /** Without a recorded outcome. */
  readonly pending: number
}

/** Raw return with flat stakes. Null where nothing is settled. */
export type RawRoi = {
  /** Profit over stakes, a fraction. */
  readonly pct: number | null
  readonly staked: number
  readonly profit: number
  /** Chance of at least this profit without any edge at fair prices. */
  readonly p_value: number | null
  readonly ci95: readonly [number, number] | null
}

/** The Sharp Score, 0 to 100, beside what it was made of; null without a graded pick. */
export type AuditScore = {
  readonly value: number
  readonly edge: number
  readonly edge_ci90: readonly [number, number]
  readonly p_edge_positive: number
  readonly inputs: {
    readonly n: number
    readonly settled: number
    readonly mean: number
    readonly s2: number
    readonly mu0: number
    readonly tau: number
    readonly delta: number
    readonly scale: number
  }
}

/** What an audit answers. */
export type AuditAnswer = {
  readonly label?: string
  readonly record: AuditRecord
  readonly raw_roi: RawRoi
  readonly sharp_score: AuditScore | null
  readonly summary: {
    readonly mean_clv: number | null
    readonly median_clv: number | null
    readonly beat_close: {
      readonly count: number
      readonly of: number
      readonly rate: number | null
      readonly ci95: readonly [number, number] | null
    }
    /** Mean price CLV minus mean fair CLV: the margin paid. */
    readonly vig_paid: number | null
    readonly grade_counts: Readonly<Record<GradeBand, number>>
    /** Of settled graded picks: what their prices were worth, and the rest of the profit. */
    readonly edge_and_luck: {
      readonly profit: number
      readonly edge: number
      readonly luck: number
      readonly luck_z: number
    } | null
  }
  readonly coverage: {
    readonly picks: number
    readonly graded: number
    readonly ungraded: number
    readonly by_reason: Readonly<Partial<Record<UngradedCode, number>>>
    /** Graded on price alone; their values count in the score as they are. */
    readonly price_basis: number
  }
  readonly verdict: string
  readonly needs: { readonly picks_for_95: number | null }
  readonly picks: readonly Card[]
}
