/**
 * Calls, and the entries that count them. Leases (A18): an entry counts the next calls of its agent's window in advance, and
 * each of them is answered with that entry's transaction. This file says how many it counts, which calls a lease covers, and
 * when unused ones go back. A window never has more unused leased calls than its longest lease, besides those for which
 * callers waited in vain (A11), and a lease serves no other window. Within it leases never get shorter, and where one process
 * records nothing goes back before SIGTERM: so any use of a window takes as many entries as its whole quota at most. Where
 * several record, calls go back only as far as that bound holds for each process, and one that has made them all leaves the
 * rest to the others. Only calls that a receipt shows as counted go back: a failed transaction leaves nothing to give back.
 */
import { type Clock, getOrMake } from '@tallystick/service-kit'
import type { Transaction } from '../transactions/transaction.ts'
import type { RecorderParts } from './recorder-parts.ts'
import type { UsageOutcome } from './usage-call.ts'
import type { UsageEntry } from './usage-ledger.ts'
import {
  EXTEND_MS,
  FORGET_AFTER_SECONDS,
  FORGET_SWEEP_MS,
  IDLE_ENTRIES_MAX,
  LEASE_IDLE_MS,
  LEASE_LOOK_MS,
  RECEIPT_WAIT_MS,
  UNSEALED_MS_MAX,
} from './usage-limits.ts'
import {
  callsLeasable,
  callsRemaining,
  entryCallsMin,
  isExhausted,
  isNearEnd,
  isScarce,
  leaseCallsMax,
  leaseLength,
  leaseShare,
  mayGiveBack,
  type UsageWindow,
} from './usage-window.ts'

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

  /** Its transaction is signed: the call is answered, or waits at most 20 s for the receipt (A11), then `onInVain` is called. */
  signed(transactionHash: string, onInVain: () => void): void {
    if (!this.waitsForReceipt) return this.settleRecorded(transactionHash)
    this.#startTimer(RECEIPT_WAIT_MS, () => {
      this.settle({ kind: 'unavailable' })
      onInVain()
    })
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

type LeaseOptions = RecorderParts & {
  /** Puts these windows' unused leased calls into the open batch, as far as there is room. */
  readonly giveBack: (windows: readonly UsageWindow[]) => void
}

/** The leases of this process that have unused calls. */
export class UsageLeases {
  readonly #options: LeaseOptions
  /** Each window's leases, in order of use. */
  readonly #open = new Map<UsageWindow, SealedEntry[]>()
  /** Windows that had a lease lately, used up or not. */
  readonly #recent = new Set<UsageWindow>()
  #cancelSweep: (() => void) | null = null
  /** When idle leases were last looked for, Unix milliseconds. */
  #lookedAtMs = 0

  constructor(options: LeaseOptions) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#open.size === 0
  }

  /** Leased calls that nobody has made yet. */
  get unusedCalls(): number {
    let calls = 0
    for (const window of this.#open.keys()) calls += this.countUnused(window)
    return calls
  }

  /** Leased calls of that window that nobody has made yet. */
  countUnused(window: UsageWindow): number {
    let calls = 0
    for (const lease of this.#open.get(window) ?? []) calls += lease.unusedCalls
    return calls
  }

  /** Chooses how many calls an entry with `calls` to record counts: the next lease's length, within the window's limits. */
  chooseSize({ state }: UsageWindow, calls: number, isBehind: boolean): number {
    const length = Math.min(leaseLength(state, isBehind), calls + leaseShare(state))
    const size = Math.max(length, entryCallsMin(state, calls))
    return calls + Math.max(0, Math.min(size - calls, callsLeasable(state)))
  }

  /** Entries that lease further calls to agents that have used half of theirs, except in `others`. They join a batch that
   * has others before it, so that these agents need no entry while it waits. */
  extend(others: ReadonlyMap<UsageWindow, unknown>): SealedEntry[] {
    const nowMs = this.#options.clock.unixMs()
    const entries: SealedEntry[] = []
    for (const window of this.#recent) {
      if (nowMs - window.lastCallAtMs > EXTEND_MS) {
        this.#recent.delete(window)
        continue
      }
      const unused = this.countUnused(window)
      const { state } = window
      const longest = leaseCallsMax(state.callsAllowed)
      if (unused * 2 > longest || others.has(window)) continue
      const calls = Math.min(longest - unused, callsLeasable(state), leaseShare(state))
      if (!isExhausted(state) && calls >= entryCallsMin(state))
        entries.push(new SealedEntry({ window, calls }))
    }
    return entries
  }

  /** The entry was made: it covers the next calls of its window if it has unused ones. */
  open(entry: SealedEntry, isBehind: boolean): void {
    entry.window.change({ kind: 'lease', calls: entry.unusedCalls, isBehind })
    if (entry.unusedCalls === 0) return
    this.#recent.add(entry.window)
    this.#keep(entry)
  }

  #keep(entry: SealedEntry): void {
    getOrMake(this.#open, entry.window, () => []).push(entry)
    this.#cancelSweep ??= this.#options.clock.after(FORGET_SWEEP_MS, () => this.#sweep())
  }

  /** The call waited in vain for the receipt of its entry: what that counts for it is unused (A11). */
  unused(entry: SealedEntry, pending: PendingCall): void {
    entry.pending.splice(entry.pending.indexOf(pending), 1)
    if (entry.unusedCalls === 0) this.#keep(entry)
    entry.unusedCalls += 1
  }

  /** Answers the call from its window's lease or, near a shared quota's end, keeps it for the receipt; false when no lease
   * covers it. */
  cover(pending: PendingCall): boolean {
    const { window } = pending
    const lease = this.#open.get(window)?.[0]
    if (lease === undefined) return false
    lease.unusedCalls -= 1
    if (lease.unusedCalls === 0) this.#remove(lease)
    const { state } = window
    pending.callsRemaining = Math.max(0, callsRemaining(state)) + this.countUnused(window)
    pending.waitsForReceipt = isNearEnd(state) && !lease.isCounted
    if (pending.waitsForReceipt) lease.pending.push(pending)
    this.#options.totals.acceptedCallsTotal += 1
    pending.signed(lease.transactionHash, () => this.unused(lease, pending))
    if (isScarce(state) && mayGiveBack(state, this.#countReturnable(window)))
      this.#giveBack([window])
    return true
  }

  /** Ends the window's counted leases and returns their unused calls, 0 or more: those are on their way back. */
  take(window: UsageWindow): number {
    let calls = 0
    for (const lease of this.#findCounted(window)) {
      calls += lease.unusedCalls
      this.#remove(lease)
    }
    window.change({ kind: 'returning', calls })
    return calls
  }

  /** Windows that several processes count in and whose agents have not called for 30 s, as far as their unused calls may go
   * back: with a record that is made anyway (A18). At most once a second any. */
  idle(): readonly UsageWindow[] {
    const nowMs = this.#options.clock.unixMs()
    if (nowMs - this.#lookedAtMs < LEASE_LOOK_MS) return []
    this.#lookedAtMs = nowMs
    const isIdle = (window: UsageWindow): boolean => {
      const calls = this.#countReturnable(window)
      const isQuiet = nowMs - window.lastCallAtMs >= LEASE_IDLE_MS
      return calls > 0 && isQuiet && mayGiveBack(window.state, calls) && !this.#hasEnded(window)
    }
    return [...this.#open.keys()].filter(isIdle).slice(0, IDLE_ENTRIES_MAX)
  }

  /** The entry will not be counted: it covers no further call, and its window gets the calls back. */
  void(entry: SealedEntry): void {
    this.#remove(entry)
    entry.window.change({ kind: 'released', calls: entry.calls })
    entry.unusedCalls = 0
  }

  /** Calls that an entry was to give back may not have arrived. */
  notReturned(entry: SealedEntry): void {
    entry.window.change({ kind: 'returning', calls: entry.calls })
    this.#lost(entry, -entry.calls)
  }

  /** Gives back the unused part of every lease that has been counted. */
  giveBackAll(): void {
    this.#forgetEnded(0)
    this.#giveBack([...this.#open.keys()])
  }

  /** Cancels the timer; what is still unused is lost. */
  stop(): void {
    this.#cancelSweep?.()
    this.#cancelSweep = null
    for (const lease of [...this.#open.values()].flat()) this.#lost(lease, lease.unusedCalls)
    this.#open.clear()
    this.#recent.clear()
  }

  /** Counts the unused calls that could go back now. */
  #countReturnable(window: UsageWindow): number {
    return this.#findCounted(window).reduce((calls, lease) => calls + lease.unusedCalls, 0)
  }

  #findCounted(window: UsageWindow): SealedEntry[] {
    return (this.#open.get(window) ?? []).filter((lease) => lease.isCounted)
  }

  #remove(lease: SealedEntry): void {
    const left = (this.#open.get(lease.window) ?? []).filter((each) => each !== lease)
    if (left.length === 0) this.#open.delete(lease.window)
    else this.#open.set(lease.window, left)
  }

  #giveBack(windows: readonly UsageWindow[]): void {
    const counted = windows.filter((window) => this.#findCounted(window).length > 0)
    this.#options.giveBack(counted.filter((window) => !this.#hasEnded(window)))
  }

  /** The next window's counter starts at 0: nothing needs to go back to one that is over. */
  #hasEnded({ windowExpiresAtSeconds }: UsageWindow, lateSeconds = 0): boolean {
    return windowExpiresAtSeconds + lateSeconds <= this.#options.clock.unixMs() / 1000
  }

  #forgetEnded(lateSeconds: number): void {
    for (const window of this.#open.keys())
      if (this.#hasEnded(window, lateSeconds)) this.#open.delete(window)
  }

  /** The contract counts calls that nobody made and that do not go back. */
  #lost({ window, transactionHash: hash }: SealedEntry, calls: number): void {
    const { agent, windowExpiresAtSeconds } = window
    this.#options.totals.lostLeasedCallsTotal += calls
    this.#options.onEvent({ kind: 'lease-lost', agent, windowExpiresAtSeconds, calls, hash })
  }

  #sweep(): void {
    const { clock } = this.#options
    // Until then calls that were admitted before the end still use them.
    this.#forgetEnded(FORGET_AFTER_SECONDS)
    for (const window of this.#recent)
      if (clock.unixMs() - window.lastCallAtMs > EXTEND_MS) this.#recent.delete(window)
    const isDone = this.isEmpty && this.#recent.size === 0
    this.#cancelSweep = isDone ? null : clock.after(FORGET_SWEEP_MS, () => this.#sweep())
  }
}
