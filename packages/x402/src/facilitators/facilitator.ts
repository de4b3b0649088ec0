import type { PaymentPayload, PaymentRequirement, Settlement } from '../payment.ts'

/** Who submits payments to the ledger. */
export type Facilitator = {
  /** Submits once and waits for the receipt. Throws FacilitatorUnavailable: nothing is known then. */
  settle(payload: PaymentPayload, requirement: PaymentRequirement): Promise<Settlement>
  /** Fee payers by network, from `/supported`. Throws FacilitatorUnavailable. */
  feePayers(): Promise<ReadonlyMap<string, readonly string[]>>
}

/** The facilitator was unreachable or slow, answered 5xx, or answered nonsense. */
export class FacilitatorUnavailable extends Error {
  override readonly name = 'FacilitatorUnavailable'
  /** True only where no connection was open, so that the facilitator cannot have seen the payment. */
  readonly nothingSent: boolean

  constructor(message: string, options: { readonly cause?: unknown; nothingSent?: boolean } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.nothingSent = options.nothingSent ?? false
  }
}
