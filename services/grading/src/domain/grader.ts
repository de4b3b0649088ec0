/**
 * What the routes call. `createGrader` is in create-grader.ts; it holds no state but its store's.
 */
import type { AuditAnswer } from '../wire/audit.ts'
import type { CalibrationAnswer, CalibrationFilters } from '../wire/calibration.ts'
import type { Card } from '../wire/cards.ts'
import type { CoverageAnswer } from '../wire/coverage.ts'
import type { PublicEntry } from '../wire/ledger.ts'
import type { AskedPick } from './pick-request.ts'

/** Picks to be audited together. */
export type AuditRequest = { readonly picks: readonly AskedPick[]; readonly label?: string }

/** A key, or what a person knows of an event. */
export type CoverageQuery =
  | { readonly kind: 'key'; readonly market: string }
  | {
      readonly kind: 'search'
      readonly sport: string | undefined
      /** Unix seconds of the day's midnight, UTC. */
      readonly daySeconds: number | undefined
      readonly text: string
    }

/** A paid grade on its way out. */
export type GradeRelease = {
  readonly pick: AskedPick
  /** The card as `grade` gave it. */
  readonly card: Card
  readonly payer: string
  /** Unique per payment; the same one again gets the same receipt. */
  readonly paymentId: string
  /**
   * When the request came, or its payment where that was held back, Unix seconds: what decides whether it was before the
   * start.
   */
  readonly receivedAtSeconds: number
}

/** The service's domain. Every method throws GradingStoreUnavailable where the store fails. */
export type Grader = {
  /** The card of a pick now. Changes nothing: call it before settlement (G4). */
  grade(pick: AskedPick): Promise<Card>
  /** Keeps a paid pick, commits it where it came before its start, and gives the card its receipt. Durable when it resolves. */
  release(paid: GradeRelease): Promise<Card>
  /** Grades up to 1,000 picks. Changes nothing, ever: audits never commit. */
  audit(request: AuditRequest): Promise<AuditAnswer>
  /** The current card of a receipt. */
  cardOf(receipt: string): Promise<Card | undefined>
  readonly calibration: (filters: CalibrationFilters) => Promise<CalibrationAnswer>
  coverage(query: CoverageQuery): Promise<CoverageAnswer>
  /** A ledger entry with its inclusion proof; prices only of redistributable sources. */
  publicEntry(seq: number): Promise<PublicEntry | undefined>
}
