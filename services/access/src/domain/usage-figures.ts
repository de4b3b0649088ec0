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
