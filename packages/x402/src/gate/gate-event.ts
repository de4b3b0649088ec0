import type { Settlement } from '../facilitators/facilitator.ts'
import type { LedgerFinding, VerifiedPayment } from '../schemes/payment-scheme.ts'

/** What the gate did, for logs and metrics. Carries no header and no answer. */
export type GateEvent = GateHappening & {
  /**
   * The `requestId` of the job that began the payment's flight, in the background too; absent where it gave none, and for
   * a delivery that could not be noted, since the flight is over by then.
   */
  readonly requestId?: string
}

/** What happened to a payment, whoever asked for it. */
export type GateHappening =
  | {
      readonly kind: 'settled'
      readonly payment: VerifiedPayment
      readonly settlement: Settlement
    }
  /** A definite refusal: nothing was paid. */
  | { readonly kind: 'refused'; readonly payment: VerifiedPayment; readonly reason: string }
  /** Whether the payment landed is not known; the ledger is being asked. */
  | { readonly kind: 'in_doubt'; readonly payment: VerifiedPayment; readonly cause: unknown }
  | {
      readonly kind: 'found'
      readonly payment: VerifiedPayment
      readonly finding: LedgerFinding
    }
  /** Settled, but the work after it failed and will be tried again. */
  | { readonly kind: 'retrying'; readonly payment: VerifiedPayment; readonly cause: unknown }
  | { readonly kind: 'fulfilled'; readonly payment: VerifiedPayment }
  /** The reservation store failed after settlement, where nothing may block. */
  | { readonly kind: 'store_failed'; readonly payment: VerifiedPayment; readonly cause: unknown }
