/**
 * What this process knows about the counter of one agent's window: what reads and receipts showed, which calls it
 * accepted or leased that no receipt settles yet, and the quota left. It decides nothing about batches or
 * transactions. A counter falls only where calls are given back (A18): by this process, which knows its own
 * transactions, or by another one, which only a later read shows.
 */
import type { Clock } from '@tallystick/service-kit'
import type { UsageCall } from './usage-call.ts'
import type { WindowId } from './usage-ledger.ts'
import {
  countEntries,
  FORGET_AFTER_SECONDS,
  FORGET_SWEEP_MS,
  LEASE_PARTS_PER_RECORDER,
  leaseCallsMax,
  READ_LAG_MS,
  RECEIPT_WAIT_CALLS_PER_RECORDER,
  SCARCE_QUOTA_PERCENT,
  UNBEGUN_CALLS_MAX,
  UNSHOWN_CALLS_MAX,
} from './usage-limits.ts'

/** What a receipt says about this process's calls in one window. */
type CountedCalls = {
  readonly calls: number
  /** The window's counter after them. */
  readonly usedAfter: number
  /** When this process read the receipt, Unix milliseconds. */
  readonly atMs: number
}

/** The counter of one window as far as this process knows it. All counts are calls. */
export class UsageWindow {
  readonly agent: string
  readonly windowExpiresAtSeconds: number
  readonly windowStartsAtSeconds: number
  readonly #recorderCount: number
  callsAllowed: number
  /** A18: how many calls the next entry counts; it grows with each. */
  nextLeaseCalls = 1
  /** A18: entries that this process made for it, those that give back included, less those whose transaction failed. */
  entries = 0
  /** Unix milliseconds. */
  lastCallAtMs = 0
  /** A receipt or a read shows calls in it, or the latest block is past its start (A9). */
  isBegun = false
  #isRefused = false
  /** The contract refused the last entry, so that what is left is less than this process knows. */
  #isUncertain = false
  /** Another process counted in it after this one did. */
  #isContended = false
  /** Certainly used, not counting unreceipted calls: from the last receipt, or a read while none was unreceipted. */
  #settledCalls = 0
  /** Counter that chain reads showed: the last read, or for a lone recorder the highest. */
  #readCalls = 0
  #unreceiptedCalls = 0
  /** Calls that receipts counted for this process, less what went back. */
  #ownCalls = 0
  /** Fewest calls that others certainly made in it. */
  #othersCalls = 0
  /** Leased calls on their way back. */
  #returningCalls = 0
  /** Calls that this process gave back and that a read may still count. */
  #givenBackCalls = 0
  /** When the last receipt came, Unix milliseconds; null before. */
  #receiptedAtMs: number | null = null
  /** Receipted calls that no read shows yet (A11). */
  #unshown: CountedCalls[] = []

  constructor(call: Omit<UsageCall, 'callsUsedInRead' | 'readAtMs'>, recorderCount: number) {
    this.agent = call.agent
    this.windowExpiresAtSeconds = call.windowExpiresAtSeconds
    this.windowStartsAtSeconds = call.windowStartsAtSeconds
    this.callsAllowed = call.callsAllowed
    this.#recorderCount = recorderCount
  }

  /** A call of its agent came. */
  called(nowMs: number): void {
    this.lastCallAtMs = nowMs
  }

  /** A chain read that was asked at that time showed this counter. It may lag. */
  sawRead(callsUsed: number, askedAtMs: number): void {
    if (callsUsed > 0) this.isBegun = true
    this.#othersUsed(callsUsed - this.#ownCalls - this.#unreceiptedCalls - this.#givenBackCalls)
    if (this.#receiptedAtMs === null || askedAtMs - this.#receiptedAtMs > READ_LAG_MS)
      this.#knowsReceipts(callsUsed)
    const sureCalls = callsUsed - this.#givenBackCalls
    // Where this process alone gives calls back, a read that shows less than an earlier one only lags.
    this.#readCalls = this.isShared ? callsUsed : Math.max(this.#readCalls, sureCalls)
    if (this.#unreceiptedCalls === 0) {
      if (this.#receiptedAtMs !== null && sureCalls > this.#settledCalls) this.#isContended = true
      this.#settledCalls = Math.max(this.#settledCalls, this.#readCalls)
    }
    if (this.#unshown.length > 0)
      this.#unshown = this.#unshown.filter((receipt) => receipt.usedAfter > callsUsed)
  }

  /** The ledger no longer shows this window, and no read can: receipts count instead. */
  sawClosed(): void {
    this.#unshown = []
  }

  /** Calls were accepted, or leased, and will be recorded. */
  accept(calls = 1): void {
    this.#unreceiptedCalls += calls
  }

  /** Accepted calls will not be counted: taken out, refused, late, reverted or given up. */
  release(calls: number): void {
    this.#unreceiptedCalls -= calls
  }

  /** The contract refused some of its calls: no more go out until a read shows it as begun (A9). */
  refused(): void {
    this.#isRefused = true
    this.#isUncertain = true
  }

  /** A receipt counted accepted calls. Receipts come in the order of their transactions. */
  count(receipt: CountedCalls): void {
    if (this.#receiptedAtMs !== null && receipt.usedAfter > this.#settledCalls + receipt.calls)
      this.#isContended = true
    this.#unreceiptedCalls -= receipt.calls
    this.#ownCalls += receipt.calls
    this.#receipted(receipt)
    if (this.isShared && receipt.usedAfter > this.#readCalls) this.#unshown.push(receipt)
  }

  /** Leased calls are on their way back; a negative count if they did not arrive. */
  returning(calls: number): void {
    this.#returningCalls += calls
  }

  /** A receipt gave leased calls back. */
  gaveBack(receipt: CountedCalls): void {
    this.#returningCalls -= receipt.calls
    this.#givenBackCalls += receipt.calls
    this.#ownCalls -= receipt.calls
    this.#readCalls = Math.min(this.#readCalls, receipt.usedAfter)
    this.#receipted(receipt)
  }

  /** A9: quota − max(used in the read, used in the last receipt) − accepted and unreceipted. May be negative. */
  get callsRemaining(): number {
    return this.callsAllowed - this.usedCalls - this.#unreceiptedCalls
  }

  /** The same, if the read already counts every unreceipted call that it can, and what is on its way back arrives: an
   * upper bound. */
  get callsRemainingAtBest(): number {
    const usedCalls = Math.max(this.#readCalls, this.#settledCalls + this.#unreceiptedCalls)
    return this.callsAllowed - usedCalls + this.#returningCalls
  }

  /** The figure an agent is given: the likelier of the two, 0 or more. */
  get callsLeft(): number {
    return Math.max(0, this.mayCountTwice ? this.callsRemainingAtBest : this.callsRemaining)
  }

  /** True when a read shows calls that may be unreceipted ones of this process, so that A9 may count them twice. */
  get mayCountTwice(): boolean {
    return this.#unreceiptedCalls > 0 && this.#readCalls > this.#settledCalls
  }

  /** A9, A11: too many calls are out that the ledger does not show yet. A new entry waits until it may count enough (A18). */
  isHeld(needsEntry: boolean): boolean {
    const callsMin = needsEntry ? Math.min(this.entryCallsMin(), this.callsRemainingAtBest) : 1
    if (this.isShared && UNSHOWN_CALLS_MAX - this.callsUnshown < Math.max(1, callsMin)) return true
    return !this.isBegun && (this.#isRefused || this.#unreceiptedCalls >= UNBEGUN_CALLS_MAX)
  }

  /** A11: what is left may be claimed by other processes, too. */
  get isNearEnd(): boolean {
    return (
      this.isShared && this.callsRemaining < this.#recorderCount * RECEIPT_WAIT_CALLS_PER_RECORDER
    )
  }

  /** A18: little is left, and other processes count here. */
  get isScarce(): boolean {
    const callsLeft = this.callsAllowed - this.usedCalls
    if (!this.isShared || !this.#isContended) return false
    return callsLeft * 100 < this.callsAllowed * SCARCE_QUOTA_PERCENT
  }

  /** A18: calls that may be leased now. May be negative. */
  get leasableCalls(): number {
    if (this.#isUncertain) return 0
    const limits = [this.callsRemaining]
    if (!this.isBegun) limits.push(UNBEGUN_CALLS_MAX - this.#unreceiptedCalls)
    if (this.isShared) limits.push(UNSHOWN_CALLS_MAX - this.callsUnshown)
    return Math.min(...limits)
  }

  /** A18: most calls that the next entry leases while the entries left to this process do. */
  get leaseShare(): number {
    if (!this.isShared) return Number.POSITIVE_INFINITY
    const parts = this.#recorderCount * LEASE_PARTS_PER_RECORDER
    return this.isScarce ? 0 : Math.floor(this.callsRemaining / parts)
  }

  /** A18: fewest calls that the next entry counts, so that the entries left to this process do for all that may come;
   * `calls` of them are accepted already. */
  entryCallsMin(calls = 0): number {
    const callsMin = this.#callsAhead + calls - this.#callsInEntries(1)
    return this.#isUncertain ? 1 : Math.max(1, Math.min(callsMin, leaseCallsMax(this.callsAllowed)))
  }

  /** A18: this process made all its entries. Calls are left if the contract refused one of them, since another process had
   * counted meanwhile, or if others gave calls back: those have entries for them. */
  get isExhausted(): boolean {
    return this.isShared && this.entries >= countEntries(this.callsAllowed)
  }

  /** A18: whether so many unused calls may go back: the entries left to this process still do for all that may come. */
  mayGiveBack(calls: number): boolean {
    return this.isShared && this.#callsAhead + calls <= this.#callsInEntries(1)
  }

  /** Calls that this process may still have to count: all but its own and what others certainly made. */
  get #callsAhead(): number {
    const ownCalls = this.#ownCalls + this.#unreceiptedCalls - this.#returningCalls
    return this.callsAllowed - ownCalls - this.#othersCalls
  }

  /** Calls that fit the entries left to this process after so many more. */
  #callsInEntries(entries: number): number {
    const entriesLeft = countEntries(this.callsAllowed) - this.entries - entries
    return Math.max(0, entriesLeft) * leaseCallsMax(this.callsAllowed)
  }

  /** A11: calls of this process that no chain read shows yet. */
  get callsUnshown(): number {
    return this.#unshown.reduce((sum, receipt) => sum + receipt.calls, this.#unreceiptedCalls)
  }

  get unreceiptedCalls(): number {
    return this.#unreceiptedCalls
  }

  /** Whether other processes may count in it. */
  get isShared(): boolean {
    return this.#recorderCount > 1
  }

  /** Counted for certain. */
  get usedCalls(): number {
    return Math.max(this.#readCalls, this.#settledCalls)
  }

  #receipted(receipt: CountedCalls): void {
    this.isBegun = true
    this.#isUncertain = false
    this.#receiptedAtMs = receipt.atMs
    this.#settledCalls = receipt.usedAfter
    this.#othersUsed(receipt.usedAfter - this.#ownCalls)
  }

  /** So many calls are counted that are not this process's. Each other recorder may give the calls of a lease back. */
  #othersUsed(calls: number): void {
    const unusedMax = (this.#recorderCount - 1) * leaseCallsMax(this.callsAllowed)
    this.#othersCalls = Math.max(this.#othersCalls, calls - unusedMax)
  }

  /** A read is late enough to count all that receipts did: if it shows less, another process gave calls back. */
  #knowsReceipts(callsUsed: number): void {
    this.#givenBackCalls = 0
    this.#unshown = []
    if (this.isShared) this.#settledCalls = Math.min(this.#settledCalls, callsUsed)
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
  readonly #recorderCount: number
  readonly #windows = new Map<string, UsageWindow>()
  #cancelSweep: (() => void) | null = null

  constructor(options: { readonly clock: Clock; readonly recorderCount: number }) {
    this.#clock = options.clock
    this.#recorderCount = options.recorderCount
  }

  /** The window's state, made on first use, updated with the call's read. */
  open(call: UsageCall): UsageWindow {
    const key = usageWindowKey(call)
    let window = this.#windows.get(key)
    if (window === undefined) {
      window = new UsageWindow(call, this.#recorderCount)
      this.#windows.set(key, window)
      this.#cancelSweep ??= this.#clock.after(FORGET_SWEEP_MS, () => this.#sweep())
    }
    return this.#saw(window, call)
  }

  /** The window's state, if this process has one, updated with the call's read. */
  find(call: UsageCall): UsageWindow | undefined {
    const window = this.get(call)
    return window === undefined ? undefined : this.#saw(window, call)
  }

  /** The window's state, if this process has one. */
  get(window: WindowId): UsageWindow | undefined {
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

  #saw(window: UsageWindow, call: UsageCall): UsageWindow {
    window.callsAllowed = call.callsAllowed
    window.sawRead(call.callsUsedInRead, call.readAtMs)
    return window
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
