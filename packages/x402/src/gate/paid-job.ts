import type { PaymentPayload, PaymentRequirement, Settlement, VerifiedPayment } from '../payment.ts'
import type { PaymentScheme } from '../schemes/payment-scheme.ts'
import type { ChallengeError } from './challenge.ts'

/** The work for one paid request. `Prepared` is made before money moves, `Answer` after; `Declined` says why not. */
export type PaidJob<Prepared, Answer, Declined> = {
  /** Names what is bought. */
  readonly fingerprint: string
  /** Names the request in its payment's events and log lines. */
  readonly requestId?: string | undefined
  /** Who waits while this payment is unresolved. */
  readonly subject: string
  /** The sender's address, as far as the transport knows it. Wrong guesses lock out only their sender (X7). */
  readonly sender?: string | undefined
  /**
   * `true` keeps the answer for its payer (X9, G4). While the payment is unresolved, another one from that payer with the
   * same fingerprint or key is pending. Once it is answered, the next one gets that answer, unsettled: with the same key
   * and fingerprint, or with the same fingerprint if the answer never reached the payer. If false, the answer belongs to
   * its payment alone, and the key and `request` below are ignored.
   */
  readonly keepsAnswer?: true | undefined
  /**
   * Answers are JSON text: strings that are sent unchanged. A gate that signs receipts also
   * signs the SHA-256 of that text for the payer, beside the receipt (X18).
   */
  readonly answersJson?: true | undefined
  /**
   * The payer's own name for this request, from `Idempotency-Key`, validated by the route. It takes precedence over an
   * identifier in the payment, which official clients make at random.
   */
  readonly idempotencyKey?: string | undefined
  /**
   * A later process needs this to redo the work; kept while the reservation is open: at most KEPT_REQUEST_BYTES_MAX,
   * opaque to the gate.
   */
  readonly request?: string | undefined
  /**
   * Runs before settlement. `declined` or a throw releases the payment, unpaid. `request` comes from the job that
   * reserved the payment, which may be an earlier job than this one.
   */
  prepare(payment: VerifiedPayment, request?: string): Promise<Preparation<Prepared, Declined>>
  /** Whether to honour, for this request, a payment found on the ledger that this process did not settle. */
  mayHonour(payment: VerifiedPayment): Promise<boolean>
  /**
   * Asked before a payment whose submission may have failed is resubmitted (X9): once false, it never is;
   * after a throw it is asked again. A restarted agent may have bought at another process meanwhile.
   */
  isStillWanted?(): Promise<boolean>
  /** Runs once after settlement; if it throws, it is retried in the background until it succeeds. */
  fulfil(prepared: Prepared, settled: SettledPayment): Promise<Answer>
}

/**
 * A job as a caller gives it. What it may leave out: `subject` (whoever buys the same thing waits), `prepare` (nothing has to be
 * made before money moves) and `mayHonour`: yes where the scheme itself knows that a payment was new when it was reserved
 * (EVM); no elsewhere (Hedera), since after a restart an old payment would buy again.
 */
export type JobOptions<Prepared, Answer, Declined> = Omit<
  PaidJob<Prepared, Answer, Declined>,
  'subject' | 'prepare' | 'mayHonour'
> &
  Partial<Pick<PaidJob<Prepared, Answer, Declined>, 'subject' | 'prepare' | 'mayHonour'>>

export type Preparation<Prepared, Declined> =
  | { readonly kind: 'ready'; readonly prepared: Prepared }
  | { readonly kind: 'declined'; readonly declined: Declined }

export type SettledPayment = {
  readonly payment: VerifiedPayment
  readonly settlement: Settlement
  /**
   * Ledger time of a payment found there, Unix seconds; much later than the request if somebody held the payment back.
   * Absent if the facilitator settled it for this request.
   */
  readonly landedAtSeconds?: number
}

/** A payment ends in one of these ways. */
export type PaymentOutcome<Answer, Declined> =
  | {
      readonly kind: 'paid'
      readonly answer: Answer
      /** Of the payment settled for this answer: an earlier one if the answer was kept. */
      readonly settlement: Settlement
      /**
       * Present for a kept answer: call it once the whole answer has left for the payer. Until then, the payer's next
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
  /** 502: possibly settled, or settled and being completed in the background. */
  | { readonly kind: 'pending'; readonly retryAfterSeconds: number }
  /** 502: nothing was settled. */
  | { readonly kind: 'unavailable'; readonly dependency: 'facilitator' | 'ledger' }
  /** 409: the payer's key already named something else; nothing was settled. Only jobs that keep answers have keys. */
  | { readonly kind: 'key_conflict' }

/** Why a paid request was neither served nor challenged: 502, or 409 for a key already used for something else. */
export type PaymentProblem = {
  readonly error:
    | 'payment_pending'
    | 'facilitator_unavailable'
    | 'facilitator_turns_away'
    | 'ledger_unavailable'
    | 'payment_terms_unknown'
    | 'idempotency_key_reused'
  readonly retryAfterSeconds?: number | undefined
}

/** When to come back while nothing can be sold: a facilitator's `/supported` is read again after 5 s. */
const UNAVAILABLE_RETRY_SECONDS = 5

/** Nobody knows what is on sale, for example without a fee payer (X11). */
export const TERMS_UNKNOWN: PaymentProblem = {
  error: 'payment_terms_unknown',
  retryAfterSeconds: UNAVAILABLE_RETRY_SECONDS,
}

/** The problem to report for an outcome that must not look like a challenge. */
export function paymentProblem(
  outcome: Extract<AnyOutcome, { kind: 'pending' | 'unavailable' | 'key_conflict' }>,
): PaymentProblem {
  if (outcome.kind === 'key_conflict') return { error: 'idempotency_key_reused' }
  return outcome.kind === 'pending'
    ? { error: 'payment_pending', retryAfterSeconds: outcome.retryAfterSeconds }
    : {
        error: `${outcome.dependency}_unavailable`,
        retryAfterSeconds: UNAVAILABLE_RETRY_SECONDS,
      }
}

/** The outcome of any job, since payments for many jobs are in flight together. */
export type AnyOutcome = PaymentOutcome<unknown, unknown>

/** A verified payment with the work it pays for. */
export type PaymentForJob = {
  readonly payment: VerifiedPayment
  readonly scheme: PaymentScheme
  /** The facilitator receives this; absent if the payment can only be found, for example once it has expired. */
  readonly order:
    | { readonly payload: PaymentPayload; readonly requirement: PaymentRequirement }
    | undefined
  readonly job: PaidJob<unknown, unknown, unknown>
  /** Left open by an earlier process, which may have sent it. */
  readonly isResumed?: true
  /** The idempotency key of the payment's own identifier; a job's key takes precedence. */
  readonly identifierKey?: string | undefined
}
