/** An account of the Hedera stand-in with its key. */
export type FundedAccount = {
  readonly accountId: string
  readonly evmAddress: `0x${string}`
  readonly privateKey: `0x${string}`
}

/** What the payment suites know about their network; see payment-network-server.ts. */
export type PaymentNetworkFacts = {
  readonly facilitatorUrl: string
  /** JSON-RPC of the Hedera stand-in. */
  readonly ledgerUrl: string
  readonly mirrorUrl: string
  /** JSON-RPC of the X Layer stand-in. */
  readonly evmUrl: string
  readonly stablecoin: {
    readonly address: `0x${string}`
    readonly name: string
    readonly version: string
  }
  readonly evmPayTo: `0x${string}`
  readonly owner: FundedAccount
  readonly payTo: FundedAccount
  readonly recorder: FundedAccount
  readonly hederaPayers: readonly FundedAccount[]
  readonly evmPayerKeys: readonly `0x${string}`[]
}

/** What the servers with a plain paid route sell, and where: the first argument of their files, as JSON. */
export type PaidServerPlan = Pick<
  PaymentNetworkFacts,
  'facilitatorUrl' | 'evmUrl' | 'stablecoin' | 'evmPayTo'
> & {
  /** Only for Express: the default settles after the handler has run, `upfront` before it. */
  readonly flow?: 'authorization' | 'upfront'
}

export const CENT_BASE_UNITS = 10_000n
export const BENCH_CHAIN = 'eip155:196'
/** The paid route's limit: long enough that payments signed ahead of a run stay valid. */
export const PAID_TIMEOUT_SECONDS = 300
export const PAID_ANSWER = { fair: 'yes', odds: 2.05 } as const
