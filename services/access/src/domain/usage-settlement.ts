/**
 * What the end of a batch means for its calls: counted, refused, late, reverted, or never heard of. Answered calls that
 * are not counted are in their agent's favour; each is in a total and an event.
 */
import type { Clock } from '@tallystick/service-kit'
import type { UsageEventListener, UsageTotals } from './events.ts'
import type { PendingCall } from './pending-call.ts'
import type { SealedBatch, SealedEntry } from './usage-batch.ts'
import type { UsageLeases } from './usage-lease.ts'
import type { UsageCount, UsageReceipt } from './usage-ledger.ts'
import { usageWindowKey } from './usage-window.ts'

/** A receipt that settles its batch. */
export type FinalReceipt = Exclude<UsageReceipt, { kind: 'pending' }> & { readonly hash: string }

type SettlementOptions = {
  readonly clock: Clock
  readonly totals: UsageTotals
  readonly onEvent: UsageEventListener
  readonly leases: UsageLeases
  /** Decides again on a call whose lease was refused: alone it may still fit the quota. */
  readonly readmit: (pending: PendingCall) => void
}

/** Applies a final receipt to the windows of its batch and answers the calls that waited for it. */
export function settleUsageBatch(
  batch: SealedBatch,
  receipt: FinalReceipt,
  options: SettlementOptions,
): void {
  const { hash } = receipt
  batch.hasHash(hash)
  options.totals.costTinybarTotal += Number(receipt.costTinybar)
  if (receipt.kind === 'reverted') {
    options.totals.revertedCallsTotal += batch.callCount
    options.onEvent({ kind: 'batch-reverted', hash, calls: batch.callCount })
    releaseUsageEntries(batch.entries, options.leases)
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

/** Gives the calls of entries that counted nothing back to their windows; calls that wait become unavailable. */
export function releaseUsageEntries(entries: readonly SealedEntry[], leases: UsageLeases): void {
  for (const entry of entries) {
    if (entry.calls < 0) leases.notReturned(entry)
    else leases.void(entry)
    for (const pending of entry.pending) pending.settle({ kind: 'unavailable' })
  }
}

function settleCounted(entry: SealedEntry, usedAfter: number, options: SettlementOptions): void {
  entry.isCounted = true
  entry.window.count({ calls: entry.calls, usedAfter, atMs: options.clock.unixMs() })
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
  if (kind === 'refused') window.refused()
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
  entry.window.gaveBack({ calls, usedAfter: count.callsUsed, atMs: clock.unixMs() })
  totals.givenBackCallsTotal += calls
}
