/**
 * Metering (A9 to A11). A call is checked against the quota and accepted in one tick, merged with others into the open
 * batch, and answered with the hash of the transaction that records it as soon as that is signed: it waits neither for
 * the sending nor for the receipt. The batch is sealed at once when the sender is free, so that at low load each call
 * is one transaction; under load calls gather for 100 ms or 50 agents, and while four sealed batches wait, until one
 * has gone. A call that is not sealed within 10 s is taken out and unavailable.
 *
 * Parts: usage-admission (may this call?), usage-window (one counter), usage-batch (when to seal), usage-queue (nonces,
 * prices, repairs), usage-sender (order, resending, signing anew), usage-receipts (what became of it, and what that means
 * for the calls). One agent's calls in a batch are one entry per window.
 *
 * What goes wrong, and what follows:
 * - ledger unreachable, no gas money: the same bytes are sent again, up to every 4 s; open calls run into their 10 s;
 * - dropped transaction: after 15 s without a receipt the ledger's nonce shows it, and all from there are resent;
 * - nonce consumed by something else (a lagging read after a restart, too), gas price refused: signed anew, counted,
 *   reported with both hashes. After a send that may have arrived this needs the proof of a later receipt;
 * - nonce gap: filled with transactions that count nothing once it has lasted 15 s;
 * - reverted, refused, late: not counted and given back to the window; three reverts in a row refuse calls for 30 s;
 * - no receipt ever: given up after 2 minutes in the agent's favour; 64 unreceipted batches stop the sender;
 * - reads that show calls whose receipts are not here yet: receipts are fetched first, so that no call counts twice;
 * - several recorders: a call whose receipt takes over 20 s is unavailable, though the ledger may count it yet;
 * - a kill loses at most what was not sent, in the agent's favour.
 */

import type { Clock } from '@tallystick/service-kit'
import {
  type UsageEventListener,
  type UsageFigures,
  type UsageTotals,
  zeroUsageTotals,
} from './events.ts'
import { UsageAdmission } from './usage-admission.ts'
import { type SealedBatch, UsageBatcher } from './usage-batch.ts'
import type { UsageLedger } from './usage-ledger.ts'
import {
  CLOSE_MS,
  RECEIPT_WAIT_CALLS_PER_RECORDER,
  REVERT_PAUSE_MS,
  REVERTS_BEFORE_PAUSE,
  UNSEALED_MS_MAX,
} from './usage-limits.ts'
import { UsageSigner } from './usage-queue.ts'
import {
  type FinalReceipt,
  releaseUsageBatch,
  settleUsageBatch,
  UsageReceipts,
} from './usage-receipts.ts'
import { UsageSender } from './usage-sender.ts'
import {
  PendingCall,
  type UsageCall,
  type UsageOutcome,
  type UsageWindow,
  UsageWindows,
} from './usage-window.ts'

export type { UsageCall, UsageOutcome } from './usage-window.ts'

/** Records metered calls on the ledger, for one process with one key. */
export type UsageRecorder = {
  /** Accepts one call in the same tick as its check and resolves with the hash of the transaction that records it,
   * known when it is signed. Never rejects. */
  record(call: UsageCall): Promise<UsageOutcome>
  /** Calls of that window that may still be made as far as this process knows, 0 or more. Where a read may count calls
   * whose receipts are still to come, the higher figure: 0 means that the quota is spent. */
  callsRemaining(call: UsageCall): number
  readonly figures: () => UsageFigures
  /** Seals and sends what is open and waits for receipts, 5 s at most; later calls are unavailable. */
  close(): Promise<void>
}

type UsageRecorderOptions = {
  readonly ledger: UsageLedger
  readonly clock: Clock
  /** How many processes record, each with its own key; 1 or more. */
  readonly recorderCount: number
  readonly onEvent?: UsageEventListener
}

/** Returns the recorder of this process. It asks the ledger for nothing until its first call. */
export function createUsageRecorder(options: UsageRecorderOptions): UsageRecorder {
  return new BatchingRecorder(options)
}

class BatchingRecorder implements UsageRecorder {
  readonly #clock: Clock
  readonly #recorderCount: number
  readonly #onEvent: UsageEventListener
  readonly #totals: UsageTotals = zeroUsageTotals()
  readonly #windows: UsageWindows
  readonly #sender: UsageSender
  readonly #receipts: UsageReceipts
  readonly #batcher: UsageBatcher
  readonly #admission: UsageAdmission
  /** Windows that receipts of the round under way changed. */
  readonly #changedWindows = new Set<UsageWindow>()
  #revertsInARow = 0
  #pausedUntilMs = 0
  #closing: Promise<void> | null = null
  #onIdle: (() => void) | null = null

  constructor(options: UsageRecorderOptions) {
    const { ledger, clock, recorderCount, onEvent = () => {} } = options
    const shared = { ledger, clock, onEvent }
    this.#clock = clock
    this.#recorderCount = recorderCount
    this.#onEvent = onEvent
    this.#windows = new UsageWindows(clock)
    const signer = new UsageSigner(shared)
    this.#sender = new UsageSender({
      ...shared,
      signer,
      totals: this.#totals,
      onProgress: () => this.#progress(),
      onSent: () => this.#receipts.wake(),
    })
    this.#receipts = new UsageReceipts({
      ...shared,
      sender: this.#sender,
      onReceipt: (batch, receipt) => this.#receipted(batch, receipt),
      onMissing: (batch) => this.#missing(batch),
      onRound: () => this.#afterRound(),
    })
    this.#batcher = new UsageBatcher({
      ...shared,
      signer,
      sender: this.#sender,
      onExpired: (pending) => this.#expired(pending),
      onReleased: (window) => this.#admission.changed(window),
    })
    this.#admission = new UsageAdmission({
      ...shared,
      recorderCount,
      refreshReceipts: () => this.#receipts.refresh(),
      accept: (pending) => this.#accept(pending),
      onExpired: (pending) => this.#expired(pending),
    })
  }

  readonly figures = (): UsageFigures => ({
    openBatchCalls: this.#batcher.openCalls,
    waitingCalls: this.#admission.waitingCount,
    sealedBatches: this.#sender.waitingCount,
    sentBatches: this.#sender.sent.length,
    unreceiptedCalls: this.#windows.unreceiptedCalls,
    windows: this.#windows.count,
    ...this.#totals,
  })

  record(call: UsageCall): Promise<UsageOutcome> {
    const nowMs = this.#clock.unixMs()
    if (this.#closing !== null || nowMs < this.#pausedUntilMs)
      return Promise.resolve({ kind: 'unavailable' })
    const pending = new PendingCall({
      call,
      window: this.#windows.open(call),
      unsealedUntilMs: nowMs + UNSEALED_MS_MAX,
    })
    this.#admission.admit(pending)
    return pending.outcome
  }

  callsRemaining(call: UsageCall): number {
    const window = this.#windows.find(call)
    if (window === undefined) return Math.max(0, call.callsAllowed - call.callsUsedInRead)
    window.sawRead(call.callsUsedInRead)
    return Math.max(0, window.callsRemainingAtBest(call.callsAllowed))
  }

  close(): Promise<void> {
    this.#closing ??= this.#finish()
    return this.#closing
  }

  #accept(pending: PendingCall): void {
    const { window, call } = pending
    if (!this.#batcher.hasRoomFor(window)) {
      pending.settle({ kind: 'unavailable' })
      return
    }
    const callsLeft = window.callsRemaining(call.callsAllowed)
    pending.waitsForReceipt =
      this.#recorderCount > 1 && callsLeft < this.#recorderCount * RECEIPT_WAIT_CALLS_PER_RECORDER
    pending.callsRemaining = callsLeft - 1
    window.accept()
    this.#totals.acceptedCallsTotal += 1
    this.#batcher.add(pending)
  }

  #expired(pending: PendingCall): void {
    this.#totals.expiredCallsTotal += 1
    this.#onEvent({ kind: 'call-expired', agent: pending.call.agent })
    pending.settle({ kind: 'unavailable' })
  }

  #progress(): void {
    this.#batcher.progress()
    if (this.#batcher.openCalls === 0 && this.#sender.isIdle) this.#onIdle?.()
  }

  #receipted(batch: SealedBatch, receipt: FinalReceipt): void {
    settleUsageBatch(batch, receipt, { totals: this.#totals, onEvent: this.#onEvent })
    if (receipt.kind === 'mined') this.#revertsInARow = 0
    else if (batch.callCount > 0) this.#reverted()
    this.#noteChanged(batch)
  }

  #reverted(): void {
    this.#revertsInARow += 1
    if (this.#revertsInARow < REVERTS_BEFORE_PAUSE) return
    this.#pausedUntilMs = this.#clock.unixMs() + REVERT_PAUSE_MS
    this.#onEvent({ kind: 'recording-paused', pauseMs: REVERT_PAUSE_MS })
  }

  #missing(batch: SealedBatch): void {
    this.#totals.missingCallsTotal += batch.callCount
    this.#onEvent({
      kind: 'receipt-missing',
      hash: batch.current.hash,
      calls: batch.callCount,
    })
    releaseUsageBatch(batch)
    this.#noteChanged(batch)
  }

  #noteChanged(batch: SealedBatch): void {
    for (const entry of batch.entries) this.#changedWindows.add(entry.window)
  }

  /** Calls at the edge of their quota are decided on all the receipts of a round, not on the first of them. */
  #afterRound(): void {
    const windows = [...this.#changedWindows]
    this.#changedWindows.clear()
    for (const window of windows) this.#admission.changed(window)
    this.#progress()
  }

  async #finish(): Promise<void> {
    this.#admission.close()
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(CLOSE_MS, resolve)
      this.#onIdle = () => {
        cancel()
        resolve()
      }
      this.#batcher.hurry()
      this.#progress()
    })
    this.#onIdle = null
    this.#stop()
  }

  /** Cancels every timer; what is unsealed is unavailable, what is signed and unreceipted is reported. */
  #stop(): void {
    this.#batcher.stop()
    this.#sender.stop()
    this.#receipts.stop()
    this.#windows.stop()
    const { unfinished } = this.#sender
    for (const entry of unfinished.flatMap((batch) => batch.entries))
      for (const pending of entry.pending) pending.settle({ kind: 'unavailable' })
    if (unfinished.length === 0) return
    this.#onEvent({
      kind: 'closed-unfinished',
      hashes: unfinished.map((batch) => batch.current.hash),
      calls: unfinished.reduce((sum, batch) => sum + batch.callCount, 0),
    })
  }
}
