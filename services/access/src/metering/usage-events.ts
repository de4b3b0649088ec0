import type { QueueEvent } from '../transactions/transaction-events.ts'

type Resigned = Extract<QueueEvent<unknown>, { kind: 're-signed' }>
type LedgerFailed = Extract<QueueEvent<unknown>, { kind: 'ledger-failed' }>

/** Tells an operator what went wrong in metering. In normal operation no call causes an event. */
export type UsageEvent =
  | Exclude<QueueEvent<unknown>, Resigned>
  | (Omit<Resigned, 'work'> & { readonly calls: number })
  | (Omit<LedgerFailed, 'step'> & { readonly step: 'prepare' | 'read' })
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
