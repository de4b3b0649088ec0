/** Why a transaction was signed anew, the only two reasons there are (A10). */
export type ResigningReason = 'nonce-consumed' | 'gas-price-too-low'

/** What a person who runs the service may want to know of the metering. Nothing here is per call in normal running. */
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
  | { readonly kind: 'recording-paused'; readonly pauseMs: number }
  /** A shutdown ended before these were sent or receipted; they may be lost, in the agents' favour. */
  | {
      readonly kind: 'closed-unfinished'
      readonly hashes: readonly string[]
      readonly calls: number
    }

/** Takes events; it must not throw. */
export type UsageEventListener = (event: UsageEvent) => void

/** The recorder's figures for /metrics and tests. Totals count since the process started. */
export type UsageFigures = {
  /** Calls accepted and not sealed yet. */
  readonly openBatchCalls: number
  /** Calls that wait to be accepted. */
  readonly waitingCalls: number
  /** Signed batches that wait for the sender. */
  readonly sealedBatches: number
  /** Batches sent whose receipt is missing. */
  readonly sentBatches: number
  /** Calls accepted and unreceipted, open ones included. */
  readonly unreceiptedCalls: number
  /** Windows kept in memory. */
  readonly windows: number
  readonly acceptedCallsTotal: number
  readonly recordedCallsTotal: number
  readonly refusedCallsTotal: number
  readonly lateCallsTotal: number
  readonly revertedCallsTotal: number
  readonly missingCallsTotal: number
  readonly expiredCallsTotal: number
  /** Transactions that the ledger took, each once, fillers included. */
  readonly transactionsSentTotal: number
  readonly resendsTotal: number
  readonly resigningsTotal: number
}

/** The totals among the figures, as the parts of the recorder count them up. */
export type UsageTotals = {
  -readonly [Name in Extract<keyof UsageFigures, `${string}Total`>]: number
}

/** Totals at zero. */
export function zeroUsageTotals(): UsageTotals {
  return {
    acceptedCallsTotal: 0,
    recordedCallsTotal: 0,
    refusedCallsTotal: 0,
    lateCallsTotal: 0,
    revertedCallsTotal: 0,
    missingCallsTotal: 0,
    expiredCallsTotal: 0,
    transactionsSentTotal: 0,
    resendsTotal: 0,
    resigningsTotal: 0,
  }
}
