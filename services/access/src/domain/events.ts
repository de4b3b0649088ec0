import type { ChallengeError, PaymentOutcome } from '@tallystick/x402'
import type { Hex } from './access-window.ts'
import type { Rearming } from './ports.ts'
import type { AlertNotice } from './seller-alerts.ts'

/** Who forwarded a settled payment, and for whom. */
type Forwarded = {
  readonly by: 'gate' | 'sweep'
  /** Of the request that the payment came with; the sweep has none. */
  readonly requestId?: string | undefined
  readonly agent: Hex
  readonly paymentReference: Hex
}

/** A slot, and the agent whose call found it. */
type OfSlot = { readonly slotId: string; readonly agent: Hex }

/** Something that the operator wants to see: domain code reports it, telemetry.ts counts and logs it. */
export type AccessEvent =
  | (Forwarded & {
      readonly kind: 'opened'
      readonly transactionHash: Hex
      readonly isTopUp: boolean
    })
  /** A settled payment that the contract refuses: the operator must look. */
  | (Forwarded & { readonly kind: 'open-refused'; readonly reason: string })
  /** A purchase that the contract would refuse, found before settlement; others may meet the same reason. */
  | {
      readonly kind: 'forward-refused'
      readonly requestId?: string | undefined
      readonly agent: Hex
      readonly reason: string
    }
  /** What became of a request with a payment, once the gate has taken it. */
  | { readonly kind: 'payment'; readonly outcome: PaymentOutcome<unknown, unknown>['kind'] }
  /** A payment that was not taken, before settlement or by the facilitator; `reason` is the 402's `error`. */
  | { readonly kind: 'payment-refused'; readonly reason: ChallengeError }
  /** A read found an armed renewal overdue by `lateSeconds`. */
  | { readonly kind: 'renewal-late'; readonly lateSeconds: number }
  /** What became of a guarded agent's call without a valid token: `proved`, or the `error` of the 402. */
  | { readonly kind: 'sign-in'; readonly outcome: string }
  | { readonly kind: 'rate-limited'; readonly by: 'agent' | 'address' }
  | { readonly kind: 'granted'; readonly isPaid: boolean }
  /** A slot's renewal was armed again: the pending one was overdue, or there was none. */
  | (OfSlot & { readonly kind: 'rearmed'; readonly how: Rearming; readonly transactionHash: Hex })
  /** Re-arming failed; the contract says why. */
  | (OfSlot & {
      readonly kind: 'not-armed'
      readonly how: Rearming
      readonly transactionHash: Hex
      readonly code: number
    })
  | (OfSlot & { readonly kind: 'rearm-failed'; readonly error: unknown })
  /** A sweep ended early, or, with a reference, one credit could not be opened. */
  | {
      readonly kind: 'sweep-failed'
      readonly error: unknown
      readonly paymentReference?: Hex
    }

  /** The seller is running out of something, or no longer is. */
  | (AlertNotice & { readonly kind: 'alert' })
  | (AlertNotice & { readonly kind: 'alert-lost'; readonly reason: string })
  /** The seller's money could not be read. */
  | { readonly kind: 'alerts-unread'; readonly error: unknown }

export type ReportAccessEvent = (event: AccessEvent) => void

/** Why a transaction was signed again; there are only these two reasons (A10). */
export type ResigningReason = 'nonce-consumed' | 'gas-price-too-low'

/** What an operator may want to know about metering. In normal operation no call causes an event. */
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

/** Takes events; it must not throw. */
export type UsageEventListener = (event: UsageEvent) => void

/** The recorder's figures, each with its help text on /metrics. Totals count since the process started. */
export const USAGE_FIGURES = {
  openBatchCalls: 'Calls accepted and not sealed into a batch yet.',
  waitingCalls: 'Calls that wait to be accepted.',
  sealedBatches: 'Signed batches that wait for the sender.',
  sentBatches: 'Batches sent whose receipt is missing.',
  unreceiptedCalls: 'Calls accepted or leased whose receipt is missing.',
  leasedCalls: 'Calls leased in advance that nobody made yet.',
  windows: 'Windows kept in memory.',
  acceptedCallsTotal: 'Calls accepted.',
  recordedCallsTotal:
    'Calls that a receipt says are counted on the contract, leased ones included.',
  givenBackCallsTotal: 'Leased calls given back to the contract because nobody made them.',
  lostLeasedCallsTotal: 'Leased calls that nobody made and that could not be given back.',
  refusedCallsTotal: 'Calls that the contract refused: over a quota.',
  lateCallsTotal: 'Calls whose window was closed too long when they came to the contract.',
  revertedCallsTotal: 'Calls in batches that reverted.',
  missingCallsTotal: 'Calls in batches that never got a receipt.',
  expiredCallsTotal: 'Calls taken out because no batch took them in time: answered 502.',
  transactionsSentTotal: 'Transactions that the ledger took, each once.',
  resendsTotal: 'Transactions sent again, unchanged.',
  resigningsTotal: 'Transactions signed anew.',
  costTinybarTotal: 'What the recorder paid for transactions whose receipts came, tinybar.',
} as const

export type UsageFigure = keyof typeof USAGE_FIGURES
export type UsageFigures = Readonly<Record<UsageFigure, number>>
export type UsageTotals = Record<Extract<UsageFigure, `${string}Total`>, number>

export function zeroUsageTotals(): UsageTotals {
  const totals = Object.keys(USAGE_FIGURES).filter((name) => name.endsWith('Total'))
  return Object.fromEntries(totals.map((name) => [name, 0])) as UsageTotals
}
