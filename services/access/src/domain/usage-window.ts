/**
 * What this process knows about the counter of one agent's window: what reads and receipts showed, and which calls it
 * accepted that no receipt settles yet. It decides nothing about time, batches or transactions.
 */
import type { Clock } from '@tallystick/service-kit'
import type { WindowId } from './usage-ledger.ts'
import { FORGET_AFTER_SECONDS, FORGET_SWEEP_MS } from './usage-limits.ts'

/** The counter of one window as far as this process knows it. All counts are calls. */
export class UsageWindow {
  readonly agent: string
  readonly windowExpiresAtSeconds: number
  /** Used for certain, besides every unreceipted call: the last receipt, or a read while none was unreceipted. */
  #settledCalls = 0
  /** Highest counter that a chain read showed. The counter of a window never falls. */
  #readCalls = 0
  #unreceiptedCalls = 0
  /** Receipted calls that no read shows yet, with the counter after each (A11). */
  #unshown: { readonly usedAfter: number; readonly calls: number }[] = []

  constructor(window: WindowId) {
    this.agent = window.agent
    this.windowExpiresAtSeconds = window.windowExpiresAtSeconds
  }

  /** A chain read showed this counter. A read that lags changes nothing. */
  sawRead(callsUsed: number): void {
    this.#readCalls = Math.max(this.#readCalls, callsUsed)
    if (this.#unreceiptedCalls === 0)
      this.#settledCalls = Math.max(this.#settledCalls, this.#readCalls)
    this.#unshown = this.#unshown.filter((receipt) => receipt.usedAfter > this.#readCalls)
  }

  /** The ledger shows this window no more, so that no read can: receipts stand for it. */
  sawClosed(): void {
    this.#unshown = []
  }

  /** One call was accepted and will be recorded. */
  accept(): void {
    this.#unreceiptedCalls += 1
  }

  /** Accepted calls will not be counted: taken out, refused, late, reverted or given up. */
  release(calls: number): void {
    this.#unreceiptedCalls -= calls
  }

  /** A receipt counted accepted calls; `usedAfter` is the window's counter after them. */
  count(receipt: { calls: number; usedAfter: number }): void {
    this.#unreceiptedCalls -= receipt.calls
    this.#settledCalls = Math.max(this.#settledCalls, receipt.usedAfter)
    if (receipt.usedAfter > this.#readCalls) this.#unshown.push(receipt)
  }

  /** A9: quota − max(used in the read, used in the last receipt) − accepted and unreceipted. May be negative. */
  callsRemaining(callsAllowed: number): number {
    return callsAllowed - Math.max(this.#readCalls, this.#settledCalls) - this.#unreceiptedCalls
  }

  /** The same, if the read already counts every unreceipted call that it can: an upper bound. */
  callsRemainingAtBest(callsAllowed: number): number {
    return callsAllowed - Math.max(this.#readCalls, this.#settledCalls + this.#unreceiptedCalls)
  }

  /** True when a read shows calls that may be unreceipted ones of this process, so that A9 may count them twice. */
  get mayCountTwice(): boolean {
    return this.#unreceiptedCalls > 0 && this.#readCalls > this.#settledCalls
  }

  /** A11: calls of this process that no chain read shows yet. */
  get callsUnshown(): number {
    return this.#unshown.reduce((sum, receipt) => sum + receipt.calls, this.#unreceiptedCalls)
  }

  get unreceiptedCalls(): number {
    return this.#unreceiptedCalls
  }
}

/** One key per agent and window. */
export function usageWindowKey(window: WindowId): string {
  return `${window.agent}/${window.windowExpiresAtSeconds}`
}

/**
 * The windows of this process. One is forgotten 60 s after it closed by the server's clock, but never while a call in
 * it is unreceipted; after that its counter comes from the next read again.
 */
export class UsageWindows {
  readonly #clock: Clock
  readonly #windows = new Map<string, UsageWindow>()
  #cancelSweep: (() => void) | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The window's state, made at first sight. */
  open(window: WindowId): UsageWindow {
    const key = usageWindowKey(window)
    const known = this.#windows.get(key)
    if (known !== undefined) return known
    const made = new UsageWindow(window)
    this.#windows.set(key, made)
    this.#cancelSweep ??= this.#clock.after(FORGET_SWEEP_MS, () => this.#sweep())
    return made
  }

  /** The window's state, if this process has one. */
  find(window: WindowId): UsageWindow | undefined {
    return this.#windows.get(usageWindowKey(window))
  }

  get count(): number {
    return this.#windows.size
  }

  get unreceiptedCalls(): number {
    let calls = 0
    for (const window of this.#windows.values()) calls += window.unreceiptedCalls
    return calls
  }

  /** Cancels the timer. */
  stop(): void {
    this.#cancelSweep?.()
    this.#cancelSweep = null
  }

  #sweep(): void {
    const closedBeforeSeconds = this.#clock.unixMs() / 1000 - FORGET_AFTER_SECONDS
    for (const [key, window] of this.#windows) {
      if (window.windowExpiresAtSeconds < closedBeforeSeconds && window.unreceiptedCalls === 0)
        this.#windows.delete(key)
    }
    this.#cancelSweep =
      this.#windows.size === 0 ? null : this.#clock.after(FORGET_SWEEP_MS, () => this.#sweep())
  }
}

/** One metered call, as the chain read that admits it saw its window. */
export type UsageCall = WindowId & {
  /** Quota of that window, calls. */
  readonly callsAllowed: number
  /** Calls counted in that window by the chain read that admitted the call. */
  readonly callsUsedInRead: number
}

/** What became of a metered call. */
export type UsageOutcome =
  | {
      readonly kind: 'recorded'
      /** Hash of the transaction that records the call, 0x-prefixed. */
      readonly transactionHash: string
      /** Calls left in the window after this one. */
      readonly callsRemaining: number
    }
  /** The window's quota is spent: 429. */
  | { readonly kind: 'quota-spent' }
  /** Not sealed within 10 s, or the ledger cannot be written: 502. */
  | { readonly kind: 'unavailable' }

/** A call on its way through the recorder; it is settled exactly once, and holds at most one timer. */
export class PendingCall {
  readonly call: UsageCall
  readonly window: UsageWindow
  readonly outcome: Promise<UsageOutcome>
  /** When the call is taken out unless it is sealed before, Unix milliseconds. */
  readonly unsealedUntilMs: number
  /** Receipts were brought up to date since the call arrived. */
  hasCaughtUp = false
  /** A11: answered by its receipt rather than by its signature. */
  waitsForReceipt = false
  /** Calls left in the window when this one was accepted. */
  callsRemaining = 0
  #settle: (outcome: UsageOutcome) => void
  #isSettled = false
  #cancelTimer: (() => void) | null = null

  constructor(options: { call: UsageCall; window: UsageWindow; unsealedUntilMs: number }) {
    this.call = options.call
    this.window = options.window
    this.unsealedUntilMs = options.unsealedUntilMs
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
    this.stopTimer()
    this.#settle(outcome)
  }

  /** Runs once after that time, unless the call is settled or the timer replaced before. */
  startTimer(clock: Clock, timer: { readonly ms: number; readonly run: () => void }): void {
    this.stopTimer()
    if (this.#isSettled) return
    this.#cancelTimer = clock.after(timer.ms, timer.run)
  }

  stopTimer(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
  }
}
