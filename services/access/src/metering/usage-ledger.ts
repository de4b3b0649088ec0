/**
 * The port through which the recorder of usage sees the ledger: one key, its nonce, its gas price, its transactions
 * and their receipts. Nothing here knows a batch's policy; usage-recorder.ts decides, the adapter encodes and sends.
 */

/** Names a window of an agent. */
export type WindowId = {
  /** Lower-case EVM address. */
  readonly agent: string
  /** The window's end, Unix seconds. */
  readonly windowExpiresAtSeconds: number
}

/** One agent's calls in one window, as one transaction counts them: an int32, not 0. A negative count gives back (A18). */
export type UsageEntry = WindowId & { readonly calls: number }

/** A signed transaction. Its hash is final: the same bytes may be sent again, never signed again. */
export type SignedUsage = {
  readonly nonce: number
  /** Offered gas price in weibar (10^10 weibar = 1 tinybar). */
  readonly gasPriceWeibar: bigint
  /** 0x-prefixed bytes. */
  readonly rawTransaction: string
  /** 0x-prefixed Keccak-256 of those bytes. */
  readonly hash: string
}

/** The ledger's answer to a transaction. Each refusal is definite: these bytes were not taken this time. */
export type UsageSendResult =
  | { readonly kind: 'accepted' }
  /** The account's nonce is past this one. */
  | { readonly kind: 'nonce-too-low' }
  /** A smaller nonce of the account is missing. */
  | { readonly kind: 'nonce-too-high' }
  | { readonly kind: 'gas-price-too-low' }
  /** The account cannot hold gas limit × offered price. */
  | { readonly kind: 'insufficient-funds' }
  /** Not looked at: there was no connection, or there were too many requests. */
  | { readonly kind: 'not-taken' }

/** One transaction did this for one agent and window. */
export type UsageCount = WindowId &
  (
    | {
        readonly kind: 'recorded'
        /** Counter of that window after this transaction. */
        readonly callsUsed: number
      }
    /**
     * Not counted: `refused` calls are beyond the quota, or their window is not funded; the window of `late` ones closed
     * over 60 s ago. Negative if calls were to be given back.
     */
    | { readonly kind: 'refused' | 'late'; readonly calls: number }
  )

export type UsageReceipt =
  | { readonly kind: 'pending' }
  /** `costTinybar` is what the ledger took for it. */
  | ({ readonly costTinybar: bigint } & (
      | { readonly kind: 'reverted' }
      | { readonly kind: 'mined'; readonly counts: readonly UsageCount[] }
    ))

/** One recorder key on one ledger. A request rejects with the adapter's error if the ledger does not answer. */
export type UsageLedger = {
  /** The nonce that the ledger expects next from this key, without pending transactions. It may lag. */
  readNonce(): Promise<number>
  /** The gas price that the ledger quotes now, weibar. */
  quoteGasPriceWeibar(): Promise<bigint>
  /** Signs one transaction that counts these entries, at once; without entries it only consumes its nonce. Never sends. */
  sign(usage: {
    readonly entries: readonly UsageEntry[]
    readonly nonce: number
    readonly gasPriceWeibar: bigint
  }): SignedUsage
  /** Sends the bytes once, without retrying. A rejection leaves open whether they arrived. */
  send(signed: Pick<SignedUsage, 'rawTransaction' | 'nonce'>): Promise<UsageSendResult>
  readReceipt(hash: string): Promise<UsageReceipt>
  /** Time of the latest block, Unix seconds. It trails the clock, by 10 s at most on a public network. */
  readBlockSeconds(): Promise<number>
  /** The counter of that window as a chain read shows it, or null if the ledger no longer shows that window. */
  readCallsUsed(window: WindowId): Promise<number | null>
}
