import type { Settlement } from '../facilitators/facilitator.ts'
import type { PaidResource, PaymentRequirement } from '../payment.ts'
import type { VerifiedPayment } from '../schemes/payment-scheme.ts'
import type { ResourceDiscovery } from './resource-discovery.ts'

/** Why a 402 was answered; the `error` of its body. A scheme's refusal reasons come through as they are. */
export type ChallengeError =
  | 'payment_required'
  | 'payment_header_too_large'
  | 'payment_header_undecodable'
  | 'payment_headers_conflict'
  | 'payment_requirements_mismatch'
  | 'payment_resource_mismatch'
  | 'payment_already_used'
  | (string & {})

/** A 402, ready to send: the same JSON in the body and, base64, in `PAYMENT-REQUIRED`. */
export type Challenge = {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/** What is on sale at this moment. */
export type PaymentTerms = {
  readonly requirements: readonly PaymentRequirement[]
  readonly resource: PaidResource
  /** How it is called and what it answers, for agents and catalogues. */
  readonly discovery?: ResourceDiscovery
}

/** What is done for one paid request. `Prepared` is made before money moves, `Answer` after; `Declined` says why not. */
type JobSteps<Prepared, Answer, Declined> = {
  readonly fingerprint: string
  /** Names the request in the events of the flight that it begins, so that a log can be read by it. */
  readonly requestId?: string | undefined
  /** Whose call without a window waits while this payment is unresolved. */
  readonly subject: string
  /**
   * Runs before settlement. A `declined` outcome or a throw releases the payment, unpaid. `request` is the job's own of
   * the request that reserved the payment, which may be an earlier one than this.
   */
  prepare(
    payment: VerifiedPayment,
    request?: string,
  ): Promise<
    | { readonly kind: 'ready'; readonly prepared: Prepared }
    | { readonly kind: 'declined'; readonly declined: Declined }
  >
  /** Whether a payment found on the ledger, not settled by this process, may be honoured for this request. */
  mayHonour(payment: VerifiedPayment): Promise<boolean>
  /** Runs once after settlement; a throw is retried in the background until it succeeds. */
  fulfil(prepared: Prepared, settled: SettledPayment): Promise<Answer>
}

/** One paid request whose answer belongs to its payment alone. */
export type PaidJob<Prepared, Answer, Declined> = JobSteps<Prepared, Answer, Declined> & {
  readonly keepsAnswer?: undefined
}

/**
 * One paid request whose answer is kept for its payer (X9, G4): while it is unresolved, another payment of that payer
 * with the same fingerprint or key is pending; once it is answered, the next one gets that answer, unsettled, where it
 * has the same key and fingerprint, or where the answer never left for the payer and the fingerprint is the same.
 */
export type KeptJob<Prepared, Answer, Declined> = JobSteps<Prepared, Answer, Declined> & {
  readonly keepsAnswer: true
  /** The payer's own name for this request, from `Idempotency-Key`, validated by the route. */
  readonly idempotencyKey?: string | undefined
  /**
   * What the next process needs to do this work again, kept with the reservation while it is open: at most
   * KEPT_REQUEST_BYTES_MAX, opaque to the gate.
   */
  readonly request?: string | undefined
}

/** Any paid request. */
export type AnyPaidJob<Prepared, Answer, Declined> =
  | PaidJob<Prepared, Answer, Declined>
  | KeptJob<Prepared, Answer, Declined>

export type SettledPayment = {
  readonly payment: VerifiedPayment
  readonly settlement: Settlement
  /**
   * When the ledger took it, Unix seconds, where it was found there; absent where its facilitator settled it for this
   * request. Much later than the request where somebody held the payment back.
   */
  readonly landedAtSeconds?: number
}

/** What a payment came to. A `PaidJob` ends in one of these. */
export type PaidJobOutcome<Answer, Declined> =
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

/** 409: the payer's key named something else before; nothing was settled. Only a `KeptJob` has keys. */
export type KeyConflict = { readonly kind: 'key_conflict' }

/** What a payment for any job came to. */
export type PaymentOutcome<Answer, Declined> = PaidJobOutcome<Answer, Declined> | KeyConflict

export type PaymentHeaders = {
  /** Value of `PAYMENT-SIGNATURE`. */
  readonly paymentSignature?: string | undefined
  /** Value of `X-PAYMENT`, where a v2 payload is accepted as well. */
  readonly xPayment?: string | undefined
}

/** Verifies, settles once and runs the job once, however often the same payment comes. */
export type PaymentGate = {
  challenge(terms: PaymentTerms, error: ChallengeError): Challenge
  /** Why these headers hold no payment for those terms, by the checks that `pay` makes first; undefined where they may. */
  refusalOf(headers: PaymentHeaders, terms: PaymentTerms): Promise<ChallengeError | undefined>
  pay<Prepared, Answer, Declined>(
    headers: PaymentHeaders,
    terms: PaymentTerms,
    job: PaidJob<Prepared, Answer, Declined>,
  ): Promise<PaidJobOutcome<Answer, Declined>>
  pay<Prepared, Answer, Declined>(
    headers: PaymentHeaders,
    terms: PaymentTerms,
    job: AnyPaidJob<Prepared, Answer, Declined>,
  ): Promise<PaymentOutcome<Answer, Declined>>
  /** Whether a payment for that subject may have been settled and is not yet fulfilled. */
  isPending(subject: string): boolean
  /**
   * Stops background work and waits for steps under way, within a limit; requests that still wait then are pending. What
   * is unresolved is found again on the ledger by the next process. A second call waits for the first.
   */
  close(): Promise<void>
}
