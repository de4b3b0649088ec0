import type { SealedBatch, SealedEntry } from './usage-batch.ts'
import type { UsageEventListener } from './usage-event.ts'
import type { UsageTotals } from './usage-figures.ts'
import type { UsageCount } from './usage-ledger.ts'
import type { FinalReceipt } from './usage-receipts.ts'
import { usageWindowKey } from './usage-windows.ts'

type SettlementOptions = {
  readonly totals: UsageTotals
  readonly onEvent: UsageEventListener
}

type EntryCounts = {
  /** Counter of the window afterwards, null where no call was counted. */
  usedAfter: number | null
  lateCalls: number
  refusedCalls: number
}

/** Applies a final receipt to the windows of its batch and answers the calls that waited for it. */
export function settleUsageBatch(
  batch: SealedBatch,
  receipt: FinalReceipt,
  options: SettlementOptions,
): void {
  if (receipt.kind === 'reverted') {
    options.totals.revertedCallsTotal += batch.callCount
    options.onEvent({ kind: 'batch-reverted', hash: receipt.hash, calls: batch.callCount })
    releaseUsageBatch(batch)
    return
  }
  const countsByWindow = gatherCounts(receipt.counts)
  for (const entry of batch.entries) {
    const counts = countsByWindow.get(usageWindowKey(entry))
    settleEntry(entry, { hash: receipt.hash, ...options, ...inEntry(entry, counts) })
  }
}

/** Gives the calls of a batch that counted nothing back to their windows; calls that wait become unavailable. */
export function releaseUsageBatch(batch: SealedBatch): void {
  for (const entry of batch.entries) {
    entry.window.release(entry.calls)
    for (const pending of entry.pending) pending.settle({ kind: 'unavailable' })
  }
}

function gatherCounts(counts: readonly UsageCount[]): Map<string, EntryCounts> {
  const byWindow = new Map<string, EntryCounts>()
  for (const count of counts) {
    const key = usageWindowKey(count)
    const sum = byWindow.get(key) ?? { usedAfter: null, lateCalls: 0, refusedCalls: 0 }
    byWindow.set(key, sum)
    switch (count.kind) {
      case 'recorded':
        sum.usedAfter = Math.max(sum.usedAfter ?? 0, count.callsUsed)
        break
      case 'refused':
        sum.refusedCalls += count.calls
        break
      case 'late':
        sum.lateCalls += count.calls
        break
    }
  }
  return byWindow
}

/** What the ledger says of an entry; what it says nothing of was not counted and stands as refused. */
function inEntry(entry: SealedEntry, counts: EntryCounts | undefined): EntryCounts {
  const lateCalls = Math.min(counts?.lateCalls ?? 0, entry.calls)
  const usedAfter = counts?.usedAfter ?? null
  const restCalls = entry.calls - lateCalls
  return {
    usedAfter,
    lateCalls,
    refusedCalls: usedAfter === null ? restCalls : Math.min(counts?.refusedCalls ?? 0, restCalls),
  }
}

function settleEntry(
  entry: SealedEntry,
  options: SettlementOptions & EntryCounts & { readonly hash: string },
): void {
  const { totals, onEvent, hash, usedAfter, lateCalls, refusedCalls } = options
  const countedCalls = entry.calls - lateCalls - refusedCalls
  entry.window.release(lateCalls + refusedCalls)
  if (usedAfter !== null) entry.window.count({ calls: countedCalls, usedAfter })
  totals.recordedCallsTotal += countedCalls
  totals.lateCallsTotal += lateCalls
  totals.refusedCallsTotal += refusedCalls
  const { agent, windowExpiresAtSeconds } = entry
  if (lateCalls > 0)
    onEvent({ kind: 'usage-late', agent, windowExpiresAtSeconds, calls: lateCalls, hash })
  if (refusedCalls > 0)
    onEvent({ kind: 'usage-refused', agent, windowExpiresAtSeconds, calls: refusedCalls, hash })
  answerWaiting(entry, { hash, refusedCalls })
}

/** A11: refusals fall on the calls that wait for their receipt, the last one first; the others are recorded. */
function answerWaiting(
  entry: SealedEntry,
  answer: { readonly hash: string; readonly refusedCalls: number },
): void {
  const waiting = entry.pending.filter((pending) => pending.waitsForReceipt)
  const recordedCount = Math.max(0, waiting.length - answer.refusedCalls)
  for (const [at, pending] of waiting.entries()) {
    pending.settle(
      at < recordedCount
        ? {
            kind: 'recorded',
            transactionHash: answer.hash,
            callsRemaining: pending.callsRemaining,
          }
        : { kind: 'quota-spent' },
    )
  }
}
