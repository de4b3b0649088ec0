import type { PaymentRequirement } from '../payment.ts'

/** x402 v2's payment payload as a facilitator gets it. */
export type PaymentPayload = {
  readonly x402Version: 2
  readonly payload: Readonly<Record<string, unknown>>
  readonly accepted: PaymentRequirement
  readonly resource?: {
    readonly url: string
    readonly description?: string
    readonly mimeType?: string
  }
  /** What the challenge declared, where the payer sent it back: a facilitator may keep a catalogue of it. */
  readonly extensions?: Readonly<Record<string, unknown>>
}

/** x402 v2's settlement response, which `PAYMENT-RESPONSE` carries. */
export type Settlement = {
  readonly success: boolean
  /** Transaction id or hash; empty where nothing was submitted. */
  readonly transaction: string
  readonly network: string
  readonly payer?: string
  readonly amount?: string
  readonly errorReason?: string
}

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
  /** True only where no connection came about, so that the facilitator cannot have seen the payment. */
  readonly nothingSent: boolean

  constructor(message: string, options: { readonly cause?: unknown; nothingSent?: boolean } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.nothingSent = options.nothingSent ?? false
  }
}
