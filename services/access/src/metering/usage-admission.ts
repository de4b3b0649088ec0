/**
 * Decides whether a call is covered by a lease (A18), may be accepted now, must wait, or finds its quota spent (A9, A11),
 * and keeps those that wait, in order of arrival per window. A call is accepted in the same tick as the decision.
 */

import { getOrMake } from '@tallystick/service-kit'
import type { RecorderParts } from './recorder-parts.ts'
import type { UsageBatcher } from './usage-batcher.ts'
import type { PendingCall, UsageLeases } from './usage-lease.ts'
import {
  CATCH_UP_MS,
  READ_LAG_MS,
  SHOWN_POLL_MS,
  SHOWN_READS_MAX,
  WAITING_CALLS_MAX,
} from './usage-limits.ts'
import {
  callsRemaining,
  callsRemainingAtLeast,
  callsUnshown,
  isExhausted,
  isNearEnd,
  isShared,
  mayCountTwice,
  mustWait,
  type UsageWindow,
} from './usage-window.ts'

type AdmissionOptions = RecorderParts & {
  readonly leases: UsageLeases
  readonly batcher: UsageBatcher
  /** Resolves when the receipts that the ledger has now are applied. */
  readonly refreshReceipts: () => Promise<void>
}

/** The gate before the open batch. */
export class UsageAdmission {
  readonly #options: AdmissionOptions
  readonly #waiting = new Map<UsageWindow, PendingCall[]>()
  /** A9: windows with calls that are not known to have begun. */
  readonly #unbegun = new Set<UsageWindow>()
  #waitingCount = 0
  #cancelShownPoll: (() => void) | null = null
  #isReading = false
  #blockRead: Promise<void> | null = null

  constructor(options: AdmissionOptions) {
    this.#options = options
  }

  /** Calls that wait to be accepted. */
  get waitingCount(): number {
    return this.#waitingCount
  }

  /** Accepts the call, answers it, or keeps it until it can be decided; at most until its deadline. */
  admit(pending: PendingCall): void {
    if (!pending.window.state.isBegun) this.#lookForBegin(pending.window)
    this.changed(pending.window)
    if (!this.#decide(pending)) this.#wait(pending)
  }

  /** This window changed: its waiting calls are decided again, in order. */
  changed(window: UsageWindow): void {
    const waiting = this.#waiting.get(window)
    if (waiting === undefined) return
    while (waiting[0] !== undefined && this.#decide(waiting[0])) {
      waiting.shift()
      this.#waitingCount -= 1
    }
    if (waiting.length === 0) this.#waiting.delete(window)
  }

  /** Answers all that wait as unavailable and cancels the timers. */
  close(): void {
    for (const waiting of this.#waiting.values())
      for (const pending of waiting) pending.settle({ kind: 'unavailable' })
    this.#waiting.clear()
    this.#unbegun.clear()
    this.#waitingCount = 0
    this.#cancelShownPoll?.()
    this.#cancelShownPoll = null
  }

  /** Accepts or answers the call; false if it must wait. */
  #decide(pending: PendingCall): boolean {
    const { window } = pending
    if (pending.isSettled || this.#options.leases.cover(pending)) return true
    const { state } = window
    if (callsRemaining(state) <= 0) {
      pending.settle({ kind: 'quota-spent' })
      return true
    }
    const { batcher } = this.#options
    if (isExhausted(state) && !batcher.hasEntry(window)) {
      pending.settle({ kind: 'unavailable' })
      return true
    }
    if (mustWait(state, !batcher.hasEntry(window))) return false
    if (mayCountTwice(state) && !pending.hasCaughtUp) return false
    // Nothing is left by A9, but the read may count calls whose receipts are still to come.
    if (callsRemainingAtLeast(state) <= 0) return false
    this.#accept(pending)
    return true
  }

  #accept(pending: PendingCall): void {
    const { batcher, totals } = this.#options
    const { window } = pending
    if (!batcher.hasRoomFor(window)) {
      pending.settle({ kind: 'unavailable' })
      return
    }
    pending.waitsForReceipt = isNearEnd(window.state)
    window.change({ kind: 'accepted', calls: 1 })
    pending.callsRemaining = Math.max(0, callsRemaining(window.state))
    totals.acceptedCallsTotal += 1
    batcher.add(pending)
  }

  #wait(pending: PendingCall): void {
    if (this.#waitingCount >= WAITING_CALLS_MAX) {
      pending.settle({ kind: 'unavailable' })
      return
    }
    getOrMake(this.#waiting, pending.window, () => []).push(pending)
    this.#waitingCount += 1
    pending.waitsToBeSealed()
    if (mayCountTwice(pending.window.state)) this.#catchUp(pending)
    this.#pollShown()
  }

  /** Takes out a call that waits to be accepted; false if it does not wait. */
  takeOut(pending: PendingCall): boolean {
    const waiting = this.#waiting.get(pending.window)
    const at = waiting?.indexOf(pending) ?? -1
    if (waiting === undefined || at < 0) return false
    waiting.splice(at, 1)
    this.#waitingCount -= 1
    if (waiting.length === 0) this.#waiting.delete(pending.window)
    return true
  }

  /** Everything that the read counted has its receipt by now; once the receipts are fetched, each call counts once. */
  #catchUp(pending: PendingCall): void {
    const { clock, refreshReceipts } = this.#options
    const onCaughtUp = (): void => {
      cancel()
      pending.hasCaughtUp = true
      this.changed(pending.window)
    }
    const cancel = clock.after(CATCH_UP_MS, onCaughtUp)
    void refreshReceipts().finally(onCaughtUp)
  }

  /** A9, A11: calls may wait until a chain read of this process shows earlier calls, or shows a window as begun. The
   * process then makes that read itself. */
  #pollShown(): void {
    if (this.#isReading || this.#cancelShownPoll !== null || this.#waiting.size === 0) return
    this.#cancelShownPoll = this.#options.clock.after(SHOWN_POLL_MS, () => {
      this.#cancelShownPoll = null
      this.#isReading = true
      void this.#readShown().finally(() => {
        this.#isReading = false
        this.#pollShown()
      })
    })
  }

  async #readShown(): Promise<void> {
    const { ledger, clock } = this.#options
    const windows = [...this.#waiting.keys()]
    const hidden = windows.filter(({ state }) => isShared(state) && callsUnshown(state) > 0)
    const reads = hidden.slice(0, SHOWN_READS_MAX).map((window) =>
      this.#try(async () => {
        const askedAtMs = clock.unixMs()
        const callsUsed = await ledger.readCallsUsed(window)
        const { callsAllowed } = window.state
        if (callsUsed === null) window.change({ kind: 'closed' })
        else window.change({ kind: 'read', callsAllowed, callsUsed, askedAtMs })
        this.changed(window)
      }),
    )
    if (windows.some((window) => !window.state.isBegun)) reads.push(this.#readBlock())
    await Promise.all(reads)
  }

  /** A9: if a window began longer ago than reads lag, any read that admits a call knows it. */
  #lookForBegin(window: UsageWindow): void {
    const knownSeconds = (this.#options.clock.unixMs() - READ_LAG_MS) / 1_000
    if (window.windowStartsAtSeconds <= knownSeconds) {
      window.change({ kind: 'begun' })
      return
    }
    this.#unbegun.add(window)
    void this.#readBlock()
  }

  #readBlock(): Promise<void> {
    this.#blockRead ??= this.#try(async () => {
      const blockSeconds = await this.#options.ledger.readBlockSeconds()
      for (const window of this.#unbegun) if (window.state.isBegun) this.#unbegun.delete(window)
      const due = [...this.#unbegun].filter((each) => each.windowStartsAtSeconds <= blockSeconds)
      await Promise.all(due.slice(0, SHOWN_READS_MAX).map((window) => this.#readBegun(window)))
    }).finally(() => {
      this.#blockRead = null
    })
    return this.#blockRead
  }

  /**
   * A9: the ledger has reached the start of a window. If the agent cancelled before, unseen by the read that admitted its
   * calls, the window never begins: calls that wait are not served, so that nobody gets a second quota.
   */
  async #readBegun(window: UsageWindow): Promise<void> {
    if ((await this.#options.ledger.readCallsUsed(window)) === null) {
      window.change({ kind: 'refused' })
      for (const pending of this.#waiting.get(window) ?? []) pending.settle({ kind: 'unavailable' })
    } else window.change({ kind: 'begun' })
    this.#unbegun.delete(window)
    this.changed(window)
  }

  async #try(read: () => Promise<void>): Promise<void> {
    try {
      await read()
    } catch (error) {
      const failure = { step: 'read', reason: 'unreachable', retryMs: SHOWN_POLL_MS } as const
      this.#options.onEvent({ kind: 'ledger-failed', ...failure, error })
    }
  }
}
