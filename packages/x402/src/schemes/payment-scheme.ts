import type { RefusalReason } from '../facilitators/refusals.ts'
import type { PaymentRequirement, VerifiedPayment } from '../payment.ts'

export type Verification =
  | { readonly kind: 'valid'; readonly payment: VerifiedPayment }
  /** Everything is right but the time: it can only be found on the ledger, not settled. */
  | { readonly kind: 'expired'; readonly payment: VerifiedPayment }
  /** `reason` is one of the scheme's documented codes. */
  | { readonly kind: 'refused'; readonly reason: string }

export type LedgerFinding =
  /** The transfer succeeded. `transaction` is its id or hash. */
  | { readonly kind: 'landed'; readonly transaction: string; readonly consensusSeconds: number }
  /** The ledger has a record with another result and none with SUCCESS. */
  | { readonly kind: 'failed'; readonly result: string }
  /** More than 30 s past its expiry, the ledger does not know it. */
  | { readonly kind: 'never' }
  /** Not known yet. */
  | { readonly kind: 'unknown' }

/**
 * A payment with less validity left than this buys nothing, seconds: if its settlement came into doubt, too little time would
 * be left to resubmit it.
 */
export const SALE_MARGIN_SECONDS = 30

/** A payment without a trace this long after it expired, on a ledger that has been read further, never arrived (X8). */
export const NEVER_AFTER_SECONDS = 30

/** One way to pay on one family of networks, as the gate sees it. */
export type PaymentScheme = {
  readonly scheme: 'exact'
  /** CAIP-2 networks. */
  readonly networks: readonly string[]
  /**
   * Checks a payload against a requirement with native crypto, cheap checks first. Throws LedgerUnavailable if the
   * payer's key cannot be read.
   */
  verify(payload: unknown, requirement: PaymentRequirement): Promise<Verification>
  /** Looks a payment up on the ledger. Throws LedgerUnavailable. */
  find(payment: VerifiedPayment): Promise<LedgerFinding>
  /**
   * Whether the ledger has already used the payment's nonce. The gate asks before it reserves a payment that its store
   * does not hold: one used at first sight was made for somebody else and is never honoured (X10). Absent in a scheme
   * whose payments name their beneficiary. Throws LedgerUnavailable.
   */
  isUsed?(payment: VerifiedPayment): Promise<boolean>
  /**
   * Whether the payer holds the amount, or held it until this payment took it. The gate asks this along with `isUsed`, so
   * that a payment without funds costs the seller no work. `aheadAmount` is what the payer's earlier payments may still
   * take, base units. Throws LedgerUnavailable.
   */
  canPay?(payment: VerifiedPayment, aheadAmount?: bigint): Promise<boolean>
  /**
   * Why a payment that was never sent would fail, or reach its receiver short, if the ledger shows that beforehand; for one that has
   * landed nothing does. The gate asks before any work. Never throws because of the ledger: the facilitator looks, too.
   */
  foreseeRefusal?(payment: VerifiedPayment): Promise<RefusalReason | undefined>
  /** Whether as much validity is left as a sale needs, by the clock of `verify`. The gate asks once the payment's turn has come. */
  hasMargin?(payment: VerifiedPayment): boolean
  /**
   * Whether a payment may be resubmitted now although an earlier submission may have arrived: the ledger takes it only once
   * under its own id. Absent in a scheme where a second submission costs gas.
   */
  mayResubmit?(payment: VerifiedPayment): boolean
  /**
   * Whether the ledger, read past that Unix second, has no trace of the payment: nothing that was submitted by then has arrived.
   * It proves no more: who has the bytes, and on Hedera the fee payer's key, may still submit them while they are valid. Throws
   * LedgerUnavailable.
   */
  isUntraced?(payment: VerifiedPayment, pastSeconds: number): Promise<boolean>
  /**
   * Whether a facilitator's success names this payment's own transaction, if that is known beforehand, or at least some
   * transaction. A success that does not is nonsense, and the ledger decides.
   */
  isOwnTransaction?(payment: VerifiedPayment, transaction: string): boolean
}

/** The ledger, or the node that reads it, did not answer or answered nonsense. */
export class LedgerUnavailable extends Error {
  override readonly name = 'LedgerUnavailable'
}
