/**
 * Settles the calls of a batch that ended: they were counted, refused, late, reverted, or never found. Answered calls that
 * are not counted are in their agent's favour; each is in a total and an event.
 */
import type { PendingCall } from './pending-call.ts'
import type { RecorderParts } from './recorder-parts.ts'
import type { SealedBatch, SealedEntry } from './usage-batch.ts'
import type { UsageLeases } from './usage-lease.ts'
import type { UsageCount, UsageReceipt } from './usage-ledger.ts'
import { usageWindowKey } from './usage-window.ts'

/** A batch ends with its receipt, or is given up because none will come. */
export type FinalReceipt = { readonly hash: string } & (
  | Exclude<UsageReceipt, { kind: 'pending' }>
  | { readonly kind: 'missing' }
)

type SettlementOptions = RecorderParts & {
  readonly leases: UsageLeases
  /** Decides again on a call whose lease was refused: alone it may still fit the quota. */
  readonly readmit: (pending: PendingCall) => void
}

/** Applies the receipt to its batch's windows and answers the calls that waited for it. */
export function settleUsageBatch(
  batch: SealedBatch,
  receipt: FinalReceipt,
  options: SettlementOptions,
): void {
  const { totals, onEvent, leases } = options
  const { hash } = receipt
  batch.hasHash(hash)
  const isMissing = receipt.kind === 'missing'
  if (receipt.kind !== 'missing') totals.costTinybarTotal += Number(receipt.costTinybar)
  if (receipt.kind !== 'mined') {
    const calls = batch.callCount
    totals[isMissing ? 'missingCallsTotal' : 'revertedCallsTotal'] += calls
    onEvent({ kind: isMissing ? 'receipt-missing' : 'batch-reverted', hash, calls })
    for (const entry of batch.entries) release(entry, leases)
    return
  }
  // One entry is one count: the contract counts all calls of an entry, or none.
  const counts = new Map(receipt.counts.map((count) => [usageWindowKey(count), count]))
  for (const entry of batch.entries) {
    const count = counts.get(usageWindowKey(entry))
    if (entry.calls < 0) settleReturn(entry, count, options)
    else if (count?.kind === 'recorded') settleCounted(entry, count.callsUsed, options)
    else settleUncounted(entry, count?.kind ?? 'refused', options)
  }
}

/** Gives back to its window the calls of an entry that counted nothing; calls that wait become unavailable. */
function release(entry: SealedEntry, leases: UsageLeases): void {
  // A failure of the ledger takes none of the entries that use may take (A18).
  entry.window.change({ kind: 'entry-failed' })
  if (entry.calls < 0) leases.notReturned(entry)
  else leases.void(entry)
  for (const pending of entry.pending) pending.settle({ kind: 'unavailable' })
}

function settleCounted(entry: SealedEntry, usedAfter: number, options: SettlementOptions): void {
  entry.isCounted = true
  const atMs = options.clock.unixMs()
  entry.window.change({ kind: 'receipt', calls: entry.calls, usedAfter, atMs })
  options.totals.recordedCallsTotal += entry.calls
  for (const pending of entry.pending.splice(0)) pending.settleRecorded(entry.transactionHash)
}

/** A11: a refusal is 429 for the calls that wait for their receipt; late ones are in the agent's favour. */
function settleUncounted(
  entry: SealedEntry,
  kind: 'refused' | 'late',
  options: SettlementOptions,
): void {
  const { totals, onEvent, leases, readmit } = options
  const { agent, windowExpiresAtSeconds, window, madeCalls, transactionHash: hash } = entry
  totals[kind === 'late' ? 'lateCallsTotal' : 'refusedCallsTotal'] += madeCalls
  onEvent({ kind: `usage-${kind}`, agent, windowExpiresAtSeconds, calls: madeCalls, hash })
  leases.void(entry)
  if (kind === 'refused') window.change({ kind: 'refused' })
  for (const pending of entry.pending.splice(0)) {
    if (kind === 'late') pending.settleRecorded(hash)
    else if (entry.isLease) readmit(pending)
    else pending.settle({ kind: 'quota-spent' })
  }
}

function settleReturn(
  entry: SealedEntry,
  count: UsageCount | undefined,
  { clock, totals, leases }: SettlementOptions,
): void {
  const calls = -entry.calls
  if (count?.kind !== 'recorded') return leases.notReturned(entry)
  const usedAfter = count.callsUsed
  entry.window.change({ kind: 'givenBack', calls, usedAfter, atMs: clock.unixMs() })
  totals.givenBackCallsTotal += calls
}
