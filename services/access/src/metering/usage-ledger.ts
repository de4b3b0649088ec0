/**
 * The port through which the recorder of usage sees the ledger. Nothing here knows a batch's policy; usage-recorder.ts
 * decides, the adapter encodes and sends.
 */
import type { TransactionLedger } from '../transactions/transaction-ledger.ts'

/** Names a window of an agent. */
export type WindowId = {
  /** Lower-case EVM address. */
  readonly agent: string
  /** The window's end, Unix seconds. */
  readonly windowExpiresAtSeconds: number
}

/** One agent's calls in one window, as one transaction counts them: an int32, not 0. A negative count gives back (A18). */
export type UsageEntry = WindowId & { readonly calls: number }

/** Work of one transaction: it counts these entries. */
type UsageWork = { readonly entries: readonly UsageEntry[] }

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

/** `costTinybar` is what the ledger took for it. */
export type UsageReceipt = { readonly costTinybar: bigint } & (
  | { readonly kind: 'reverted' }
  | { readonly kind: 'mined'; readonly counts: readonly UsageCount[] }
)

/** The ledger of one recorder key; work without entries only consumes a nonce. */
export type UsageLedger = TransactionLedger<UsageWork, UsageReceipt> & {
  /** Time of the latest block, Unix seconds. It trails the clock, by 10 s at most on a public network. */
  readBlockSeconds(): Promise<number>
  /** The counter of that window as a chain read shows it, or null if the ledger no longer shows that window. */
  readCallsUsed(window: WindowId): Promise<number | null>
}
