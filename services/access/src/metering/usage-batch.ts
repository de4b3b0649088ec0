/**
 * Everything on its way to the ledger: a call until it is answered, the entry that counts calls, and the batch of entries that one
 * transaction counts, until its receipt settles them. No policy lives here: usage-batcher.ts says when to seal, usage-lease.ts
 * what to count in advance.
 */
import type { Clock } from '@tallystick/service-kit'
import type { Transaction } from '../transactions/transaction.ts'
import type { TransactionQueue } from '../transactions/transaction-queue.ts'
import type { TransactionEnd } from '../transactions/transaction-receipts.ts'
import type { RecorderParts } from './recorder-parts.ts'
import type { UsageOutcome } from './usage-call.ts'
import type { UsageCount, UsageEntry, UsageReceipt } from './usage-ledger.ts'
import { RECEIPT_WAIT_MS, UNSEALED_MS_MAX } from './usage-limits.ts'
import { type UsageWindow, usageWindowKey } from './usage-window.ts'

/** A call on its way through the recorder; it is settled exactly once, and holds at most one timer. */
export class PendingCall {
  readonly window: UsageWindow
  readonly outcome: Promise<UsageOutcome>
  /** Receipts were brought up to date since the call arrived. */
  hasCaughtUp = false
  /** A11: answered by its receipt rather than by its signature. */
  waitsForReceipt = false
  /** Calls left in the window when this one was accepted. */
  callsRemaining = 0
  readonly #clock: Clock
  readonly #onExpired: (pending: PendingCall) => void
  readonly #unsealedUntilMs: number
  #settle: (outcome: UsageOutcome) => void
  #isSettled = false
  #cancelTimer: (() => void) | null = null

  /** `onExpired` takes it out if it is not sealed in time (A10). */
  constructor(options: {
    readonly window: UsageWindow
    readonly clock: Clock
    readonly onExpired: (pending: PendingCall) => void
  }) {
    this.window = options.window
    this.#clock = options.clock
    this.#onExpired = options.onExpired
    this.#unsealedUntilMs = options.clock.unixMs() + UNSEALED_MS_MAX
    const { promise, resolve } = Promise.withResolvers<UsageOutcome>()
    this.outcome = promise
    this.#settle = resolve
  }

  get isSettled(): boolean {
    return this.#isSettled
  }

  /** Answers the call. Later answers are ignored. */
  settle(outcome: UsageOutcome): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#stopTimer()
    this.#settle(outcome)
  }

  /** Answers the call with the transaction that counts it. */
  settleRecorded(transactionHash: string): void {
    this.settle({ kind: 'recorded', transactionHash, callsRemaining: this.callsRemaining })
  }

  /** It waits to be accepted or sealed, for at most 10 s. */
  waitsToBeSealed(): void {
    this.#startTimer(this.#unsealedUntilMs - this.#clock.unixMs(), () => this.#onExpired(this))
  }

  /** Its transaction is signed: the call is answered, or waits at most 20 s for the receipt (A11). */
  signed(transactionHash: string): void {
    if (this.waitsForReceipt)
      this.#startTimer(RECEIPT_WAIT_MS, () => this.settle({ kind: 'unavailable' }))
    else this.settleRecorded(transactionHash)
  }

  #startTimer(ms: number, run: () => void): void {
    this.#stopTimer()
    if (!this.#isSettled) this.#cancelTimer = this.#clock.after(ms, run)
  }

  #stopTimer(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
  }
}

/** The calls of one agent in one window that one transaction counts (A10), or gives back (A18). */
export class SealedEntry implements UsageEntry {
  readonly agent: string
  readonly windowExpiresAtSeconds: number
  readonly window: UsageWindow
  /** Calls in `pending` and leased ones; negative for leased calls that go back. */
  readonly calls: number
  /** Calls that are not answered yet, in order of acceptance. */
  readonly pending: PendingCall[]
  /** The agent's next calls that this entry leases and nobody has made yet (A18). */
  unusedCalls: number
  readonly isLease: boolean
  /** The transaction that counts it, once its batch is signed. */
  transaction: Transaction<unknown> | null = null
  /** A receipt shows that it is counted. */
  isCounted = false

  constructor(entry: {
    readonly window: UsageWindow
    readonly calls: number
    readonly pending?: readonly PendingCall[]
  }) {
    this.window = entry.window
    this.agent = entry.window.agent
    this.windowExpiresAtSeconds = entry.window.windowExpiresAtSeconds
    this.calls = entry.calls
    this.pending = [...(entry.pending ?? [])]
    this.unusedCalls = Math.max(0, entry.calls - this.pending.length)
    this.isLease = this.unusedCalls > 0
  }

  /** Hash of the transaction that counts it, once its batch is signed; signing again changes it. */
  get transactionHash(): string {
    return this.transaction?.hash ?? ''
  }

  /** Calls that were answered with it, or wait to be. */
  get madeCalls(): number {
    return Math.max(0, this.calls - this.unusedCalls)
  }
}

/** One transaction counts these entries. */
export type UsageBatch = { readonly entries: readonly SealedEntry[] }

/** The queue of the recorder's key. */
export type UsageQueue = TransactionQueue<UsageBatch, UsageReceipt>

/** Counts the calls that were answered with it, or wait to be. */
export const countCalls = ({ entries }: UsageBatch): number =>
  entries.reduce((sum, entry) => sum + entry.madeCalls, 0)

type SettlementOptions = RecorderParts & {
  /** Decides about entries that were not counted. */
  readonly leases: {
    void(entry: SealedEntry): void
    notReturned(entry: SealedEntry): void
  }
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
function release(entry: SealedEntry, leases: SettlementOptions['leases']): void {
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
