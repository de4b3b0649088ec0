/** What the pages are told; every other figure on them comes from the public API, in the reader's browser. */
export type PagesOptions = {
  /** The service's address without a trailing slash, for the requests to copy. */
  readonly baseUrl: string
  readonly payment: {
    /** CAIP-2, e.g. `eip155:196`. */
    readonly network: string
    /** The token's address. */
    readonly asset: string
    /** The token's name, e.g. `USD₮0`. */
    readonly name: string
    /** Digits after the decimal point of one token. */
    readonly decimals: number
    /** Price of a grade and of an audit, base units. */
    readonly gradeAmount: bigint
    readonly auditAmount: bigint
    /** A JSON-RPC address that a wallet may be told when it does not know the network; left out, it is not offered. */
    readonly rpcUrl?: string
  }
}
