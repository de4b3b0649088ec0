import type { Settlement } from './facilitator.ts'
import type { PaidResource, PaymentRequirement } from './payment-requirement.ts'
import type { VerifiedPayment } from './payment-scheme.ts'

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
}

/** One paid request. `Prepared` is made before money moves, `Answer` after; `Declined` is why the work cannot be done. */
export type PaidJob<Prepared, Answer, Declined> = {
  readonly fingerprint: string
  /** Whose call without a window waits while this payment is unresolved. */
  readonly subject: string
  /** Runs before settlement. A `declined` outcome or a throw releases the payment, unpaid. */
  prepare(
    payment: VerifiedPayment,
  ): Promise<
    | { readonly kind: 'ready'; readonly prepared: Prepared }
    | { readonly kind: 'declined'; readonly declined: Declined }
  >
  /** Whether a payment found on the ledger, not settled by this process, may be honoured for this request. */
  mayHonour(payment: VerifiedPayment): Promise<boolean>
  /** Runs once after settlement; a throw is retried in the background until it succeeds. */
  fulfil(prepared: Prepared, settled: SettledPayment): Promise<Answer>
}

export type SettledPayment = {
  readonly payment: VerifiedPayment
  readonly settlement: Settlement
}

export type PaymentOutcome<Answer, Declined> =
  | { readonly kind: 'paid'; readonly answer: Answer; readonly settlement: Settlement }
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
  ): Promise<PaymentOutcome<Answer, Declined>>
  /** Whether a payment for that subject may have been settled and is not yet fulfilled. */
  isPending(subject: string): boolean
  /**
   * Stops background work and waits for steps under way, within a limit; requests that still wait then are pending. What
   * is unresolved is found again on the ledger by the next process. A second call waits for the first.
   */
  close(): Promise<void>
}
