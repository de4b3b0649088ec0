import type { PaymentPayload, PaymentRequirement, Settlement, VerifiedPayment } from '../payment.ts'
import type { PaymentScheme } from '../schemes/payment-scheme.ts'
import type { ChallengeError } from './challenge.ts'

/**
 * What is done for one paid request. `Prepared` is made before money moves, `Answer` after; `Declined` says why not.
 * `Keeps` is `true` for a job whose answer is kept for its payer.
 */
export type PaidJob<Prepared, Answer, Declined, Keeps extends true | undefined = undefined> = {
  /** What is bought. */
  readonly fingerprint: string
  /** Names the request in the events of the payment that it brings, so that a log can be read by it. */
  readonly requestId?: string | undefined
  /** Who waits while this payment is unresolved. */
  readonly subject: string
  /**
   * `true` keeps the answer for its payer (X9, G4): while it is unresolved, another payment of that payer with the same
   * fingerprint or key is pending; once it is answered, the next one gets that answer, unsettled, where it has the same
   * key and fingerprint, or where the answer never left for the payer and the fingerprint is the same. Without it the
   * answer belongs to its payment alone, and the key and `request` below are not looked at.
   */
  readonly keepsAnswer?: Keeps
  /** The payer's own name for this request, from `Idempotency-Key`, validated by the route. */
  readonly idempotencyKey?: string | undefined
  /**
   * What the next process needs to do this work again, kept with the reservation while it is open: at most
   * KEPT_REQUEST_BYTES_MAX, opaque to the gate.
   */
  readonly request?: string | undefined
  /**
   * Runs before settlement. A `declined` outcome or a throw releases the payment, unpaid. `request` is that of the job
   * that reserved the payment, which may be an earlier one than this.
   */
  prepare(payment: VerifiedPayment, request?: string): Promise<Preparation<Prepared, Declined>>
  /** Whether a payment found on the ledger, not settled by this process, may be honoured for this request. */
  mayHonour(payment: VerifiedPayment): Promise<boolean>
  /** Runs once after settlement; a throw is retried in the background until it succeeds. */
  fulfil(prepared: Prepared, settled: SettledPayment): Promise<Answer>
}

export type KeptJob<Prepared, Answer, Declined> = PaidJob<Prepared, Answer, Declined, true>

export type AnyPaidJob<Prepared, Answer, Declined> = PaidJob<
  Prepared,
  Answer,
  Declined,
  true | undefined
>

export type Preparation<Prepared, Declined> =
  | { readonly kind: 'ready'; readonly prepared: Prepared }
  | { readonly kind: 'declined'; readonly declined: Declined }

export type SettledPayment = {
  readonly payment: VerifiedPayment
  readonly settlement: Settlement
  /**
   * When the ledger took it, Unix seconds, where it was found there; absent where its facilitator settled it for this
   * request. Much later than the request where somebody held the payment back.
   */
  readonly landedAtSeconds?: number
}

/** What a payment came to. Only a job that keeps its answer has keys, and so a conflict of them. */
export type PaymentOutcome<Answer, Declined, Keeps extends true | undefined = true | undefined> =
  | {
      readonly kind: 'paid'
      readonly answer: Answer
      /** Of the payment that was settled for this answer: an earlier one where the answer was kept. */
      readonly settlement: Settlement
      /**
       * To be called once the whole answer has left for the payer; there for a kept answer. Until then the payer's next
       * payment for the same gets it again. Never throws.
       */
      readonly delivered?: () => Promise<void>
    }
  /** 402, with `PAYMENT-RESPONSE` where a facilitator refused. */
  | {
      readonly kind: 'challenged'
      readonly error: ChallengeError
      readonly settlement?: Settlement
    }
  | { readonly kind: 'declined'; readonly declined: Declined }
  /** 502: may have been settled, or is settled and being completed in the background. */
  | { readonly kind: 'pending'; readonly retryAfterSeconds: number }
  /** 502: nothing was settled. */
  | { readonly kind: 'unavailable'; readonly dependency: 'facilitator' | 'ledger' }
  /** 409: the payer's key named something else before; nothing was settled. */
  | (Keeps extends true ? { readonly kind: 'key_conflict' } : never)

/** What the payments in flight come to; each caller knows the types of its own. */
export type AnyOutcome = PaymentOutcome<unknown, unknown>

/** A verified payment with the work that it pays for. */
export type PaymentForJob = {
  readonly payment: VerifiedPayment
  readonly scheme: PaymentScheme
  /** What the facilitator gets; absent for a payment that can only be found, e.g. since its validity ended. */
  readonly order: SettlementOrder | undefined
  readonly job: AnyPaidJob<unknown, unknown, unknown>
}

/** What a facilitator is asked to settle. */
export type SettlementOrder = {
  readonly payload: PaymentPayload
  readonly requirement: PaymentRequirement
}
