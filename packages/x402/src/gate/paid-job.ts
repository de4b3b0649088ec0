import type { PaymentPayload, PaymentRequirement, Settlement, VerifiedPayment } from '../payment.ts'
import type { PaymentScheme } from '../schemes/payment-scheme.ts'
import type { ChallengeError } from './challenge.ts'

/** The work of one paid request. `Prepared` is made before money moves, `Answer` after; `Declined` says why not. */
export type PaidJob<Prepared, Answer, Declined> = {
  /** What is bought. */
  readonly fingerprint: string
  /** Names the request in its payment's events, and so in the log. */
  readonly requestId?: string | undefined
  /** Who waits while this payment is unresolved. */
  readonly subject: string
  /**
   * `true` keeps the answer for its payer (X9, G4). While the payment is unresolved, another one of that payer with the
   * same fingerprint or key is pending. Once it is answered, the next one gets that answer, unsettled: with the same key
   * and fingerprint, or with the same fingerprint if the answer never reached the payer. Without it the answer belongs
   * to its payment alone, and the key and `request` below are ignored.
   */
  readonly keepsAnswer?: true | undefined
  /** The payer's own name for this request, from `Idempotency-Key`, validated by the route. */
  readonly idempotencyKey?: string | undefined
  /**
   * What the next process needs to do this work again, kept while the reservation is open: at most
   * KEPT_REQUEST_BYTES_MAX, opaque to the gate.
   */
  readonly request?: string | undefined
  /**
   * Runs before settlement. `declined` or a throw releases the payment, unpaid. `request` comes from the job that
   * reserved the payment, which may be earlier than this one.
   */
  prepare(payment: VerifiedPayment, request?: string): Promise<Preparation<Prepared, Declined>>
  /** Whether a payment found on the ledger, not settled by this process, may be honoured for this request. */
  mayHonour(payment: VerifiedPayment): Promise<boolean>
  /** Runs once after settlement; a throw is retried in the background until it succeeds. */
  fulfil(prepared: Prepared, settled: SettledPayment): Promise<Answer>
}

export type Preparation<Prepared, Declined> =
  | { readonly kind: 'ready'; readonly prepared: Prepared }
  | { readonly kind: 'declined'; readonly declined: Declined }

export type SettledPayment = {
  readonly payment: VerifiedPayment
  readonly settlement: Settlement
  /**
   * Ledger time of a payment found there, Unix seconds: much later than the request if somebody held the payment back.
   * Absent if the facilitator settled it for this request.
   */
  readonly landedAtSeconds?: number
}

/** What a payment came to. */
export type PaymentOutcome<Answer, Declined> =
  | {
      readonly kind: 'paid'
      readonly answer: Answer
      /** Of the payment that was settled for this answer: an earlier one if the answer was kept. */
      readonly settlement: Settlement
      /**
       * Present for a kept answer: call it once the whole answer has left for the payer. Until then the payer's next
       * payment for the same thing gets it again. Never throws.
       */
      readonly delivered?: () => Promise<void>
    }
  /** 402, with `PAYMENT-RESPONSE` if a facilitator refused. */
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
  /** 409: the payer's key named something else before; nothing was settled. Only jobs that keep answers have keys. */
  | { readonly kind: 'key_conflict' }

/** The outcome of any job: payments of many jobs are in flight together. */
export type AnyOutcome = PaymentOutcome<unknown, unknown>

/** A verified payment with the work that it pays for. */
export type PaymentForJob = {
  readonly payment: VerifiedPayment
  readonly scheme: PaymentScheme
  /** What the facilitator gets; absent if the payment can only be found, for example after its validity. */
  readonly order:
    | { readonly payload: PaymentPayload; readonly requirement: PaymentRequirement }
    | undefined
  readonly job: PaidJob<unknown, unknown, unknown>
}
