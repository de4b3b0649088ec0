import type { WindowId } from './usage-ledger.ts'

/** One metered call, with its window as the read that admits it saw it. */
export type UsageCall = WindowId & {
  /** When that window begins or began, Unix seconds. */
  readonly windowStartsAtSeconds: number
  /** Quota of that window, calls. */
  readonly callsAllowed: number
  /** Calls counted in that window by the chain read that admitted the call. */
  readonly callsUsedInRead: number
  /** When that read was requested, Unix milliseconds. */
  readonly readAtMs: number
}

/** The recorder answers each metered call with one of these. */
export type UsageOutcome =
  | {
      readonly kind: 'recorded'
      /** Hash of the transaction that records the call, or recorded it beforehand (A18), 0x-prefixed. */
      readonly transactionHash: string
      /** Calls left in the window after this one, unused leased ones of this process included. */
      readonly callsRemaining: number
    }
  /** The window's quota is spent: 429. */
  | { readonly kind: 'quota-spent' }
  /** Not sealed within 10 s, or the ledger cannot be written: 502. */
  | { readonly kind: 'unavailable' }
