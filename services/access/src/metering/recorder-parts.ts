/** The parts of one recorder share these: its ledger, its clock, and what they tell the operator in events and figures. */
import type { Clock } from '@tallystick/service-kit'
import type { QueueEvent } from '../transactions/transaction.ts'
import type { QueueTotals } from '../transactions/transaction-queue.ts'
import type { UsageLedger } from './usage-ledger.ts'

/** Every part of one recorder has these, and shares them with the others. */
export type RecorderParts = {
  /** One recorder key on one ledger. */
  readonly ledger: UsageLedger
  readonly clock: Clock
  /** Hears what an operator may want to know; it must not throw. */
  readonly onEvent: UsageEventListener
  /** Each part adds to its own figures. */
  readonly totals: UsageTotals
}

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

type UsageFigure = keyof typeof USAGE_FIGURES
export type UsageFigures = Readonly<Record<UsageFigure, number>>
/** Totals of metering alone; the queue of transactions counts the others. */
type UsageTotals = Record<
  Exclude<Extract<UsageFigure, `${string}Total`>, keyof QueueTotals>,
  number
>

export function zeroUsageTotals(): UsageTotals {
  const totals = Object.keys(USAGE_FIGURES).filter((name) => name.endsWith('Total'))
  return Object.fromEntries(totals.map((name) => [name, 0])) as UsageTotals
}
