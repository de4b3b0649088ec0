/** A transaction is signed again for these two reasons only (A10). */
export type ResigningReason = 'nonce-consumed' | 'gas-price-too-low'

/** Tells an operator what went wrong in metering. In normal operation no call causes an event. */
export type UsageEvent =
  | {
      readonly kind: 're-signed'
      readonly reason: ResigningReason
      /** The hash that callers were given. */
      readonly oldHash: string
      readonly newHash: string
      readonly nonce: number
      readonly calls: number
    }
  | { readonly kind: 'resent'; readonly hash: string; readonly nonce: number }
  | {
      /** The ledger refused or did not answer; tried again after the pause. */
      readonly kind: 'ledger-failed'
      readonly step: 'prepare' | 'sign' | 'send' | 'nonce' | 'receipt' | 'read'
      readonly reason: string
      readonly retryMs: number
      readonly error?: unknown
    }
  | { readonly kind: 'batch-reverted'; readonly hash: string; readonly calls: number }
  /** Recorded nowhere: its nonce was consumed and no receipt ever came. Given up in the agents' favour. */
  | { readonly kind: 'receipt-missing'; readonly hash: string; readonly calls: number }
  | {
      readonly kind: 'usage-refused' | 'usage-late'
      readonly agent: string
      readonly windowExpiresAtSeconds: number
      readonly calls: number
      readonly hash: string
    }
  | { readonly kind: 'nonce-gap-filled'; readonly nonce: number; readonly hash: string }
  /** Not filled: this is not the ledger that the key was used on. */
  | {
      readonly kind: 'nonce-gap-too-wide'
      readonly ledgerNonce: number
      readonly nonce: number
    }
  /** Calls were taken out after 10 s without being sealed. */
  | { readonly kind: 'call-expired'; readonly agent: string }
  /** Leased calls that the contract counts, nobody made, and could not be given back (A18). */
  | {
      readonly kind: 'lease-lost'
      readonly agent: string
      readonly windowExpiresAtSeconds: number
      readonly calls: number
      /** The transaction that leased them or was to give them back. */
      readonly hash: string
    }
  | { readonly kind: 'recording-paused'; readonly pauseMs: number }
  /** A shutdown ended before these were sent or receipted; they may be lost, in the agents' favour. */
  | {
      readonly kind: 'closed-unfinished'
      readonly hashes: readonly string[]
      readonly calls: number
    }

export type UsageEventListener = (event: UsageEvent) => void
