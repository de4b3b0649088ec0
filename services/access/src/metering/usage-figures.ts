import type { QueueTotals } from '../transactions/transaction-queue.ts'

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
/** Totals of metering alone; the queue of transactions counts the others. */
export type UsageTotals = Record<
  Exclude<Extract<UsageFigure, `${string}Total`>, keyof QueueTotals>,
  number
>

export function zeroUsageTotals(): UsageTotals {
  const totals = Object.keys(USAGE_FIGURES).filter((name) => name.endsWith('Total'))
  return Object.fromEntries(totals.map((name) => [name, 0])) as UsageTotals
}
