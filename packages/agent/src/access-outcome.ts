import type { Hex } from 'viem'
import type { AccessStatus, Metering, Subscription } from './access-answers.ts'

/** A payment that this agent signed for a request. */
export type SignedPayment = {
  readonly amountTinybar: bigint
  /** Account that is paid, `0.0.x`. */
  readonly payTo: string
  /** Id of the transfer, `0.0.x@seconds.nanoseconds`, under which any explorer shows what became of it. */
  readonly transaction: string
  /** Value of the `PAYMENT-SIGNATURE` header: whoever holds it can only send this very payment. */
  readonly header: string
}

/** What came of one call of the paid resource. */
export type AccessOutcome =
  | {
      readonly kind: 'granted'
      readonly paidThisRequest: boolean
      readonly subscription: Subscription
      readonly why: string | undefined
      readonly metering: Metering | undefined
      /** The paid payload, whatever the service sells. */
      readonly resource: unknown
      /** The payment that the service settled for this request. */
      readonly payment:
        | { readonly amountTinybar: bigint; readonly transaction: string; readonly payer: string }
        | undefined
      /**
       * What was signed for this request. Where `payment` is absent the service does not say that it took it: a window
       * may have opened between the challenge and the payment.
       */
      readonly signedPayment: SignedPayment | undefined
    }
  /** No window is open and the price is above the caller's maximum (0 unless stated): nothing was signed. */
  | {
      readonly kind: 'payment-needed'
      readonly priceTinybar: bigint
      readonly maxPaymentTinybar: bigint
      readonly payTo: string
      readonly description: string | undefined
    }
  /** The service asks for a payment that this agent cannot make, e.g. on another network: nothing was signed. */
  | { readonly kind: 'cannot-pay'; readonly offers: readonly string[] }
  /** The payment was refused before it moved money; a new one may be signed. */
  | { readonly kind: 'payment-refused'; readonly reason: string; readonly payment: SignedPayment }
  /** The payment may have moved money and its window is not open yet. Do not sign another: ask again later. */
  | {
      readonly kind: 'payment-pending'
      readonly retryAfterSeconds: number
      /** What the service says, as a code. */
      readonly error: string
      /** Absent when an earlier request's payment is the pending one. */
      readonly payment: SignedPayment | undefined
    }
  /** The quota of this window is spent (429); it refills when the window renews. */
  | { readonly kind: 'quota-spent'; readonly retryAfterSeconds: number }
  /** The service, its ledger or its facilitator is down (502, 503): nothing was signed. */
  | { readonly kind: 'unavailable'; readonly httpStatus: number; readonly error: string }

/** What came of reading the status. */
export type StatusOutcome =
  | { readonly kind: 'status'; readonly status: AccessStatus }
  | { readonly kind: 'unavailable'; readonly httpStatus: number; readonly error: string }

/** What came of cancelling; `refused` names an error of the contract. */
export type CancelOutcome =
  | {
      readonly kind: 'cancelled'
      readonly refundTinybar: bigint
      /** Absent where there was nothing to refund. */
      readonly transaction: Hex | undefined
    }
  | { readonly kind: 'nothing-to-cancel' }
  | { readonly kind: 'refused'; readonly errorName: string }

/** What came of topping up; `refused` names an error of the contract. */
export type TopUpOutcome =
  | {
      readonly kind: 'topped-up'
      readonly amountTinybar: bigint
      readonly balanceTinybar: bigint
      readonly transaction: Hex
    }
  /** A window must be open to be topped up: pay instead. */
  | { readonly kind: 'no-open-window' }
  | { readonly kind: 'refused'; readonly errorName: string }

/** The service was unreachable or answered what access.md does not know. */
export class AccessServiceUnavailable extends Error {
  override readonly name = 'AccessServiceUnavailable'
}
