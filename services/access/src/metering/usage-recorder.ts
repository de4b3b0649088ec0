/**
 * Metering (A9 to A11, A18). A call that a lease covers is answered with the lease's transaction. Any other is checked
 * against the quota and accepted in one tick, merged with others into the open batch, and answered with the hash of the
 * transaction that records it as soon as that is signed, before it is sent. The batch is sealed at once if the sender is
 * free, so that at low load each call is one transaction; under load calls gather for 40 ms or 50 agents, and while 64
 * sealed batches wait, until one has gone. A call that is not sealed within 10 s is taken out and answered as unavailable.
 *
 * Parts: usage-admission (may this call?), usage-window (one counter), usage-lease (calls, and the entries that count them,
 * some in advance), usage-batcher (when to seal, and what a receipt means for a batch); transactions/ signs and sends batches
 * and reads their receipts. One agent's calls in a batch are one entry per window.
 *
 * Each failure has its consequence:
 * - ledger unreachable, no gas money: the same bytes are sent again, up to every 4 s; open calls run into their 10 s;
 * - a send without an answer: the same bytes are sent again after 20 s, if the ledger still shows their nonce unused;
 * - dropped transaction: after 15 s without a receipt the ledger's nonce shows it, and it and all later ones are resent;
 * - nonce consumed by something else (or a lagging read after a restart), gas price refused: signed again, counted,
 *   reported with both hashes. After a send that may have arrived this needs the proof of a later receipt;
 * - nonce gap: filled with transactions that count nothing once it has lasted 15 s;
 * - reverted, refused, late: not counted and given back to the window; three reverts in a row refuse calls for 30 s;
 * - no receipt ever: given up after 2 minutes in the agent's favour; 64 unreceipted batches stop the sender;
 * - reads that show calls whose receipts are not here yet: receipts are fetched first, so that no call counts twice;
 * - a lease that is not counted ends; calls answered with it are in the agent's favour;
 * - several recorders: a call whose receipt takes over 20 s is unavailable; if the ledger counts it yet, that is the agent's next;
 * - a kill loses at most what was not sent, in the agent's favour, and its unused leases, 5 % of a quota at most.
 */

import type { Clock } from '@tallystick/service-kit'
import type { QueueEvent, Transaction } from '../transactions/transaction.ts'
import { TransactionQueue } from '../transactions/transaction-queue.ts'
import type { TransactionEnd } from '../transactions/transaction-receipts.ts'
import {
  type RecorderParts,
  type UsageEvent,
  type UsageEventListener,
  type UsageFigures,
  zeroUsageTotals,
} from './recorder-parts.ts'
import { UsageAdmission } from './usage-admission.ts'
import {
  countCalls,
  settleUsageBatch,
  type UsageBatch,
  UsageBatcher,
  type UsageQueue,
} from './usage-batcher.ts'
import type { UsageCall, UsageOutcome } from './usage-call.ts'
import { PendingCall, UsageLeases } from './usage-lease.ts'
import type { UsageReceipt, WindowId } from './usage-ledger.ts'
import {
  CLOSE_MS,
  FORGET_AFTER_SECONDS,
  FORGET_SWEEP_MS,
  GAS_PRICE_FACTOR,
  RETRY,
  REVERT_PAUSE_MS,
  REVERTS_BEFORE_PAUSE,
} from './usage-limits.ts'
import { callsRemaining, callsUsed, UsageWindow, usageWindowKey } from './usage-window.ts'

export type UsageRecorder = Pick<
  BatchingRecorder,
  'record' | 'callsRemaining' | 'leasedCalls' | 'callsUsed' | 'figures' | 'close'
>

type UsageRecorderOptions = Pick<RecorderParts, 'ledger' | 'clock'> & {
  /** So many processes record, each with its own key; 1 or more. */
  readonly recorderCount: number
  readonly onEvent?: UsageEventListener
}

/** Returns the recorder of this process. It asks the ledger for nothing until its first call. */
export function createUsageRecorder(options: UsageRecorderOptions): UsageRecorder {
  return new BatchingRecorder(options)
}

/** Records metered calls on the ledger, for one process with one key. */
class BatchingRecorder {
  readonly #parts: RecorderParts
  readonly #windows: UsageWindows
  readonly #queue: UsageQueue
  readonly #leases: UsageLeases
  readonly #batcher: UsageBatcher
  readonly #admission: UsageAdmission
  /** Windows that receipts of the current round changed. */
  readonly #changedWindows = new Set<UsageWindow>()
  #revertsInARow = 0
  #pausedUntilMs = 0
  #closing: Promise<void> | null = null
  #onIdle: (() => void) | null = null

  constructor(options: UsageRecorderOptions) {
    const { ledger, clock, recorderCount, onEvent = () => {} } = options
    const parts = { ledger, clock, onEvent, totals: zeroUsageTotals() }
    this.#parts = parts
    this.#windows = new UsageWindows({ clock, recorderCount })
    this.#queue = new TransactionQueue<UsageBatch, UsageReceipt>({
      ledger,
      clock,
      retry: RETRY,
      offer: (quotedWeibar) => quotedWeibar * GAS_PRICE_FACTOR,
      filler: { entries: [] },
      onEvent: (event) => onEvent(describeEvent(event)),
      onProgress: () => this.#progress(),
      onEnd: (transaction, end) => this.#receipted(transaction, end),
      onRound: () => this.#afterRound(),
    })
    this.#leases = new UsageLeases({
      ...parts,
      giveBack: (windows) => this.#batcher.giveBack(windows),
    })
    this.#batcher = new UsageBatcher({
      ...parts,
      leases: this.#leases,
      queue: this.#queue,
    })
    this.#admission = new UsageAdmission({
      ...parts,
      leases: this.#leases,
      batcher: this.#batcher,
      refreshReceipts: () => this.#queue.refreshReceipts(),
    })
  }

  readonly figures = (): UsageFigures => ({
    openBatchCalls: this.#batcher.openCalls,
    waitingCalls: this.#admission.waitingCount,
    sealedBatches: this.#queue.waitingCount,
    sentBatches: this.#queue.sentCount,
    unreceiptedCalls: this.#windows.unreceiptedCalls,
    leasedCalls: this.#leases.unusedCalls,
    windows: this.#windows.count,
    ...this.#parts.totals,
    ...this.#queue.totals,
  })

  /** Accepts one call in the same tick as its check and resolves with the hash of the transaction that records it,
   * known when it is signed, or at once if a lease covers the call. Never rejects. */
  record(call: UsageCall): Promise<UsageOutcome> {
    const { clock } = this.#parts
    const nowMs = clock.unixMs()
    if (this.#closing !== null || nowMs < this.#pausedUntilMs)
      return Promise.resolve({ kind: 'unavailable' })
    const window = this.#windows.open(call)
    window.lastCallAtMs = nowMs
    const pending = new PendingCall({ window, clock, onExpired: this.#expire })
    this.#admission.admit(pending)
    return pending.outcome
  }

  /** Calls of that window that may still be made as far as this process knows, 0 or more. If a read may count calls whose
   * receipts are still to come, the higher figure: 0 means that the quota is spent and no leased call is unused. */
  callsRemaining(call: UsageCall): number {
    const window = this.#windows.find(call)
    if (window === undefined) return Math.max(0, call.callsAllowed - call.callsUsedInRead)
    return Math.max(0, callsRemaining(window.state)) + this.#leases.countUnused(window)
  }

  /** Calls of that window that this process leased and nobody has made yet. */
  leasedCalls(call: WindowId): number {
    const window = this.#windows.get(call)
    return window === undefined ? 0 : this.#leases.countUnused(window)
  }

  /** Calls counted in that window, by the read or by later receipts of this process. */
  callsUsed(call: UsageCall): number {
    const window = this.#windows.find(call)
    return window === undefined ? call.callsUsedInRead : callsUsed(window.state)
  }

  /** Seals and sends what is open, gives unused leases back and waits for receipts, 5 s at most; later calls are
   * unavailable. */
  close(): Promise<void> {
    this.#closing ??= this.#finish()
    return this.#closing
  }

  /** A call was not sealed in time: it is taken out where it waits. */
  readonly #expire = (pending: PendingCall): void => {
    const { totals, onEvent } = this.#parts
    const isOpen = this.#batcher.takeOut(pending)
    if (!isOpen && !this.#admission.takeOut(pending)) return
    totals.expiredCallsTotal += 1
    onEvent({ kind: 'call-expired', agent: pending.window.agent })
    pending.settle({ kind: 'unavailable' })
    if (isOpen) this.#admission.changed(pending.window)
  }

  #progress(): void {
    this.#batcher.progress()
    if (this.#batcher.isEmpty && this.#queue.unfinished.length === 0 && this.#leases.isEmpty)
      this.#onIdle?.()
  }

  #receipted(transaction: Transaction<UsageBatch>, receipt: TransactionEnd<UsageReceipt>): void {
    const { entries } = transaction.work
    settleUsageBatch(transaction, receipt, {
      ...this.#parts,
      leases: this.#leases,
      readmit: (pending) => this.#admission.admit(pending),
    })
    if (receipt.kind === 'mined') this.#revertsInARow = 0
    else if (receipt.kind === 'reverted' && entries.length > 0) this.#reverted()
    for (const entry of entries) this.#changedWindows.add(entry.window)
  }

  #reverted(): void {
    this.#revertsInARow += 1
    if (this.#revertsInARow < REVERTS_BEFORE_PAUSE) return
    const { clock, onEvent } = this.#parts
    this.#pausedUntilMs = clock.unixMs() + REVERT_PAUSE_MS
    onEvent({ kind: 'recording-paused', pauseMs: REVERT_PAUSE_MS })
  }

  /** Calls at the edge of their quota are decided on all the receipts of a round, not on the first of them. */
  #afterRound(): void {
    const windows = [...this.#changedWindows]
    this.#changedWindows.clear()
    for (const window of windows) this.#admission.changed(window)
    if (this.#closing !== null) this.#leases.giveBackAll()
    this.#progress()
  }

  async #finish(): Promise<void> {
    this.#admission.close()
    await new Promise<void>((resolve) => {
      const cancel = this.#parts.clock.after(CLOSE_MS, resolve)
      this.#onIdle = () => {
        cancel()
        resolve()
      }
      this.#batcher.hurry()
      this.#leases.giveBackAll()
      this.#progress()
    })
    this.#onIdle = null
    this.#stop()
  }

  /** Cancels every timer. Unsealed calls become unavailable; signed batches without a receipt are reported, and leased calls
   * that may not have gone back are reported as lost. */
  #stop(): void {
    this.#batcher.stop()
    this.#queue.stop()
    this.#leases.stop()
    this.#windows.stop()
    const { unfinished } = this.#queue
    for (const entry of unfinished.flatMap(({ work }) => work.entries)) {
      if (entry.calls < 0) this.#leases.notReturned(entry)
      for (const pending of entry.pending) pending.settle({ kind: 'unavailable' })
    }
    if (unfinished.length === 0) return
    this.#parts.onEvent({
      kind: 'closed-unfinished',
      hashes: unfinished.map(({ hash }) => hash),
      calls: unfinished.reduce((sum, { work }) => sum + countCalls(work), 0),
    })
  }
}

function describeEvent(event: QueueEvent<UsageBatch>): UsageEvent {
  if (event.kind !== 're-signed') return event
  const { work, ...resigned } = event
  return { ...resigned, calls: countCalls(work) }
}

/**
 * The windows of this process. One is forgotten 60 s after it closed by the server's clock, but never while a call in
 * it is unreceipted; after that its counter comes from the next read again.
 */
class UsageWindows {
  readonly #clock: Clock
  readonly #recorderCount: number
  readonly #windows = new Map<string, UsageWindow>()
  #cancelSweep: (() => void) | null = null

  constructor(options: { readonly clock: Clock; readonly recorderCount: number }) {
    this.#clock = options.clock
    this.#recorderCount = options.recorderCount
  }

  /** Returns the window, made on first use, after the call's read. */
  open(call: UsageCall): UsageWindow {
    const key = usageWindowKey(call)
    let window = this.#windows.get(key)
    if (window === undefined) {
      window = new UsageWindow(call, this.#recorderCount)
      this.#windows.set(key, window)
      this.#cancelSweep ??= this.#clock.after(FORGET_SWEEP_MS, () => this.#sweep())
    }
    return this.#applyRead(window, call)
  }

  /** Returns the window after the call's read, if this process has one. */
  find(call: UsageCall): UsageWindow | undefined {
    const window = this.get(call)
    return window === undefined ? undefined : this.#applyRead(window, call)
  }

  /** Returns the window, if this process has one. */
  get(window: WindowId): UsageWindow | undefined {
    return this.#windows.get(usageWindowKey(window))
  }

  get count(): number {
    return this.#windows.size
  }

  get unreceiptedCalls(): number {
    let calls = 0
    for (const window of this.#windows.values()) calls += window.state.unreceiptedCalls
    return calls
  }

  /** Cancels the timer. */
  stop(): void {
    this.#cancelSweep?.()
    this.#cancelSweep = null
  }

  #applyRead(window: UsageWindow, call: UsageCall): UsageWindow {
    const { callsAllowed, callsUsedInRead, readAtMs: askedAtMs } = call
    window.change({ kind: 'read', callsAllowed, callsUsed: callsUsedInRead, askedAtMs })
    return window
  }

  #sweep(): void {
    const closedBeforeSeconds = this.#clock.unixMs() / 1000 - FORGET_AFTER_SECONDS
    for (const [key, window] of this.#windows) {
      if (
        window.windowExpiresAtSeconds < closedBeforeSeconds &&
        window.state.unreceiptedCalls === 0
      )
        this.#windows.delete(key)
    }
    this.#cancelSweep =
      this.#windows.size === 0 ? null : this.#clock.after(FORGET_SWEEP_MS, () => this.#sweep())
  }
}
