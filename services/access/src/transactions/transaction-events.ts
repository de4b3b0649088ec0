/** A transaction is signed again for these two reasons only (A10). */
export type ResigningReason = 'nonce-consumed' | 'gas-price-too-low'

/** Tells an operator what went wrong with a queue of transactions. In normal operation no transaction causes an event. */
export type QueueEvent<Work> =
  | {
      readonly kind: 're-signed'
      readonly reason: ResigningReason
      /** The hash that callers were given. */
      readonly oldHash: string
      readonly newHash: string
      readonly nonce: number
      readonly work: Work
    }
  | { readonly kind: 'resent'; readonly hash: string; readonly nonce: number }
  | {
      /** The ledger refused or did not answer; tried again after the pause. */
      readonly kind: 'ledger-failed'
      readonly step: 'sign' | 'send' | 'nonce' | 'receipt'
      readonly reason: string
      readonly retryMs: number
      readonly error?: unknown
    }
  | { readonly kind: 'nonce-gap-filled'; readonly nonce: number; readonly hash: string }
  /** Not filled: this is not the ledger that the key was used on. */
  | {
      readonly kind: 'nonce-gap-too-wide'
      readonly ledgerNonce: number
      readonly nonce: number
    }
