/** What one `accepts` entry asks for: x402 v2's PaymentRequirements, amounts in base units as decimal strings. */
export type PaymentRequirement = {
  readonly scheme: 'exact'
  /** CAIP-2 network, e.g. `hedera:testnet` or `eip155:196`. */
  readonly network: string
  /** Base units, decimal digits. */
  readonly amount: string
  /** `0.0.0` for HBAR, otherwise the token's address. */
  readonly asset: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  /** Keys that a client must carry back unchanged, e.g. `feePayer`, `paymentFlow`. */
  readonly extra: Readonly<Record<string, unknown>>
}

/** What a challenge says about the thing on sale. `url` is made from the public base URL, never from the Host header. */
export type PaidResource = {
  readonly url: string
  readonly description: string
  readonly mimeType: string
}
