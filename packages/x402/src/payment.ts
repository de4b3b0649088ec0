/** The requirement, the payer's payload, the settlement and the verified payment. Wire shapes are x402 v2's. */

/** One `accepts` entry of a challenge: x402's PaymentRequirements, amounts in base units as decimal strings. */
export type PaymentRequirement = {
  readonly scheme: 'exact'
  /** CAIP-2 network, e.g. `hedera:testnet` or `eip155:196`. */
  readonly network: string
  /** Base units, decimal digits. */
  readonly amount: string
  /** `0.0.0` for HBAR, otherwise the token's id on Hedera or its address. */
  readonly asset: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  /** Keys that a client must return unchanged, e.g. `feePayer`, `paymentFlow`. */
  readonly extra: Readonly<Record<string, unknown>>
}

/** A challenge says this about the thing on sale. `url` comes from the public base URL, never from the Host header. */
export type PaidResource = {
  readonly url: string
  readonly description: string
  readonly mimeType: string
  /** For catalogues: see `sellerFields`. */
  readonly serviceName?: string
  readonly tags?: readonly string[]
  readonly iconUrl?: string
}

/** x402's payment payload as sent to a facilitator. */
export type PaymentPayload = {
  readonly x402Version: 2
  readonly payload: Readonly<Record<string, unknown>>
  readonly accepted: PaymentRequirement
  readonly resource?: Partial<PaidResource> & Pick<PaidResource, 'url'>
  /** The challenge declared this, and the payer echoed it: a facilitator may list it in a catalogue. */
  readonly extensions?: Readonly<Record<string, unknown>> | undefined
}

/** x402's settlement response, which `PAYMENT-RESPONSE` carries. */
export type Settlement = {
  readonly success: boolean
  /** Transaction id or hash; empty if nothing was submitted. */
  readonly transaction: string
  readonly network: string
  readonly payer?: string | undefined
  readonly amount?: string | undefined
  readonly errorReason?: string | undefined
  /** We add this for the payer, such as a receipt. */
  readonly extensions?: Readonly<Record<string, unknown>> | undefined
}

/** A payment whose signatures and amounts have been checked locally. */
export type VerifiedPayment = {
  /** Reservation key: what identifies a payment. On Hedera `<network>/<transaction id>`, never the bytes. */
  readonly id: string
  readonly network: string
  readonly asset: string
  /** Base units. */
  readonly amount: bigint
  readonly payTo: string
  /** The one debited account: `0.0.x` on Hedera, an address on EVM. */
  readonly payer: string
  /** The payer's EVM address in lower case. */
  readonly payerEvmAddress: string
  /** Hedera: the transaction id `0.0.x@seconds.nanos`; EVM: the authorization's nonce. */
  readonly nonce: string
  /** Text that the payer signed with the payment, or empty. */
  readonly memo: string
  readonly validFromSeconds: number
  readonly validUntilSeconds: number
}
