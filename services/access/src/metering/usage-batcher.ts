/**
 * The open batch and the moment of its sealing (A10): at once when the sender is free, at 50 agents, after 40 ms, but not
 * while the queue of sealed ones is full. It answers a batch's calls once it is signed, and takes out calls that are not
 * sealed within 10 s. While batches wait, a batch also carries the next calls of agents that need some soon (A18). In the end
 * the receipt settles a batch.
 */
import { getOrMake, pause } from '@tallystick/service-kit'
import type { Transaction } from '../transactions/transaction.ts'
import type { TransactionQueue } from '../transactions/transaction-queue.ts'
import type { TransactionEnd } from '../transactions/transaction-receipts.ts'
import type { RecorderParts } from './recorder-parts.ts'
import { type PendingCall, SealedEntry, type UsageLeases } from './usage-lease.ts'
import type { UsageCount, UsageReceipt } from './usage-ledger.ts'
import {
  OPEN_AGENTS_MAX,
  OPEN_CALLS_MAX,
  RETRY,
  SEAL_AFTER_MS,
  SEAL_AT_AGENTS,
  SEALED_WAITING_MAX,
  UNSENT_CALLS_MAX,
} from './usage-limits.ts'
import { type UsageWindow, usageWindowKey } from './usage-window.ts'

/** One transaction counts these entries. */
export type UsageBatch = { readonly entries: readonly SealedEntry[] }

/** The queue of the recorder's key. */
export type UsageQueue = TransactionQueue<UsageBatch, UsageReceipt>

/** Counts the calls that were answered with it, or wait to be. */
export const countCalls = ({ entries }: UsageBatch): number =>
  entries.reduce((sum, entry) => sum + entry.madeCalls, 0)

type BatcherOptions = RecorderParts & {
  readonly queue: UsageQueue
  readonly leases: UsageLeases
}

/** Gathers accepted calls in the open batch and seals it. */
export class UsageBatcher {
  readonly #options: BatcherOptions
  /** When the open batch got its first call, Unix milliseconds; null while it is empty. */
  #openedAtMs: number | null = null
  /** Its calls of each window, in order of their first one. */
  #calls = new Map<UsageWindow, Set<PendingCall>>()
  #openCalls = 0
  /** Windows whose unused leased calls go back with it. */
  #returning = new Set<UsageWindow>()
  #cancelSeal: (() => void) | null = null
  readonly #stopped = new AbortController()
  #isPreparing = false
  #isHurried = false

  constructor(options: BatcherOptions) {
    this.#options = options
  }

  /** Calls accepted and not sealed. */
  get openCalls(): number {
    return this.#openCalls
  }

  /** True if there is nothing to seal. */
  get isEmpty(): boolean {
    return this.#entryCount === 0
  }

  /** Agents of the open batch, each counted once per window. */
  get #entryCount(): number {
    return this.#calls.size + this.#returning.size
  }

  /** True if the open batch has calls of this window: a further one needs no entry of its own. */
  hasEntry(window: UsageWindow): boolean {
    return this.#calls.has(window)
  }

  /** True if a call of this window may be added; false when the open batch is at its limits. */
  hasRoomFor(window: UsageWindow): boolean {
    const hasEntry = this.#calls.has(window) || this.#returning.has(window)
    const isCrowded = !hasEntry && this.#entryCount >= OPEN_AGENTS_MAX
    return !isCrowded && this.#openCalls < OPEN_CALLS_MAX
  }

  /** Adds a call that its window has accepted. */
  add(pending: PendingCall): void {
    this.#openedAtMs ??= this.#options.clock.unixMs()
    getOrMake(this.#calls, pending.window, () => new Set()).add(pending)
    this.#openCalls += 1
    pending.waitsToBeSealed()
    this.progress()
  }

  /** Adds these windows' unused leased calls, as they are when the batch is sealed: calls until then still use them. */
  giveBack(windows: readonly UsageWindow[]): void {
    for (const window of windows.filter((each) => this.hasRoomFor(each))) {
      this.#openedAtMs ??= this.#options.clock.unixMs()
      this.#returning.add(window)
    }
    this.progress()
  }

  /** Takes out a call and gives it back to its window; false if it is not in the open batch. */
  takeOut(pending: PendingCall): boolean {
    const { window } = pending
    const calls = this.#calls.get(window)
    if (calls?.delete(pending) !== true) return false
    if (calls.size === 0) this.#calls.delete(window)
    this.#openCalls -= 1
    if (this.isEmpty) this.#openedAtMs = null
    window.change({ kind: 'released', calls: 1 })
    return true
  }

  /** From now on seals without waiting for more calls. */
  hurry(): void {
    this.#isHurried = true
    this.progress()
  }

  /** Seals if A10 says so now; otherwise sets a timer to look again, unless the queue will. */
  progress(): void {
    const { clock, queue } = this.#options
    if (this.isEmpty) return
    if (!queue.isReady) {
      void this.#prepare()
      return
    }
    const dueInMs = (this.#openedAtMs ?? 0) + SEAL_AFTER_MS - clock.unixMs()
    const isFull = this.#entryCount >= SEAL_AT_AGENTS
    if (queue.isFree || isFull || dueInMs <= 0 || this.#isHurried) {
      if (!this.#isQueueFull) this.#seal()
    } else
      this.#cancelSeal ??= clock.after(dueInMs, () => {
        this.#cancelSeal = null
        this.progress()
      })
  }

  /** A10: nothing is signed beyond the window of nonces, nor beyond what a kill may lose. */
  get #isQueueFull(): boolean {
    const { queue } = this.#options
    const unsent = queue.unfinished.filter((each) => each.place === 'waiting' && !each.isDelivered)
    const unsentCalls = unsent.reduce((calls, { work }) => calls + countCalls(work), 0)
    return queue.waitingCount >= SEALED_WAITING_MAX || unsentCalls >= UNSENT_CALLS_MAX
  }

  /** Cancels the timers and answers the open calls as unavailable. */
  stop(): void {
    this.#stopped.abort()
    for (const [window, calls] of this.#close().calls) {
      window.change({ kind: 'released', calls: calls.size })
      for (const pending of calls) pending.settle({ kind: 'unavailable' })
    }
  }

  /** Returns what is open; the next call opens another batch. */
  #close() {
    const closed = { calls: this.#calls, returning: this.#returning }
    this.#calls = new Map()
    this.#returning = new Set()
    this.#openCalls = 0
    this.#openedAtMs = null
    this.#cancelSeal?.()
    this.#cancelSeal = null
    return closed
  }

  #seal(): void {
    const { leases, queue } = this.#options
    const { returning, calls } = this.#close()
    const isBehind = queue.waitingCount > 0
    if (calls.size > 0) for (const window of leases.idle()) returning.add(window)
    const entries: SealedEntry[] = []
    for (const window of returning) {
      const unused = leases.take(window)
      if (unused > 0) entries.push(new SealedEntry({ window, calls: -unused }))
    }
    for (const [window, pending] of calls) {
      const size = leases.chooseSize(window, pending.size, isBehind)
      const entry = new SealedEntry({ window, calls: size, pending: [...pending] })
      leases.open(entry, isBehind)
      entries.push(entry)
    }
    for (const entry of isBehind ? leases.extend(calls) : []) {
      leases.open(entry, isBehind)
      entries.push(entry)
    }
    if (entries.length === 0) return
    const transaction = queue.add({ entries })
    for (const entry of entries) entry.transaction = transaction
    for (const entry of entries)
      for (const call of entry.pending)
        call.signed(transaction.hash, () => leases.unused(entry, call))
  }

  /** Reads what signing needs, until it succeeds. */
  async #prepare(): Promise<void> {
    const { clock, queue, onEvent } = this.#options
    if (this.#isPreparing) return
    this.#isPreparing = true
    try {
      await queue.prepare()
    } catch (error) {
      const failure = { step: 'prepare', reason: 'unreachable', retryMs: RETRY.maxMs } as const
      onEvent({ kind: 'ledger-failed', ...failure, error })
      await pause(clock, RETRY.maxMs, this.#stopped.signal)
    }
    this.#isPreparing = false
    this.progress()
  }
}

type SettlementOptions = RecorderParts & {
  readonly leases: UsageLeases
  /** Decides again on a call whose lease was refused: alone it may still fit the quota. */
  readonly readmit: (pending: PendingCall) => void
}

/**
 * Applies the receipt to its batch's windows and answers the calls that waited for it: they were counted, refused, late,
 * reverted, or never found. Answered calls that are not counted are in their agent's favour; each is in a total and an event.
 */
export function settleUsageBatch(
  { hash, work: batch }: Transaction<UsageBatch>,
  receipt: TransactionEnd<UsageReceipt>,
  options: SettlementOptions,
): void {
  const { totals, onEvent, leases } = options
  const isMissing = receipt.kind === 'missing'
  if (receipt.kind !== 'missing') totals.costTinybarTotal += Number(receipt.costTinybar)
  if (receipt.kind !== 'mined') {
    const calls = countCalls(batch)
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
