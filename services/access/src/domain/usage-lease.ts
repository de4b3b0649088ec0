/**
 * Leases (A18): an entry counts the next calls of its agent's window in advance, and each of them is answered with that
 * entry's transaction. Here is how many it counts, which calls a lease covers, and when what nobody used goes back. A
 * window has one lease with unused calls at most, and a lease ends with its window. Only what a receipt says is counted
 * goes back: of a transaction that failed nothing may be given back.
 */
import type { Clock } from '@tallystick/service-kit'
import type { UsageEventListener, UsageTotals } from './events.ts'
import type { PendingCall } from './pending-call.ts'
import type { SealedEntry } from './usage-batch.ts'
import { LEASE_IDLE_MS, LEASE_SWEEP_MS, leaseCallsMax } from './usage-limits.ts'
import type { UsageWindow } from './usage-window.ts'

type LeaseOptions = {
  readonly clock: Clock
  readonly totals: UsageTotals
  readonly onEvent: UsageEventListener
  /** Puts what is unused of these windows' leases into the open batch, as far as there is room. */
  readonly giveBack: (windows: readonly UsageWindow[]) => void
}

/** The leases of this process that have unused calls. */
export class UsageLeases {
  readonly #options: LeaseOptions
  readonly #open = new Map<UsageWindow, SealedEntry>()
  #cancelSweep: (() => void) | null = null

  constructor(options: LeaseOptions) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#open.size === 0
  }

  /** Leased calls that nobody made yet. */
  get unusedCalls(): number {
    let calls = 0
    for (const lease of this.#open.values()) calls += lease.unusedCalls
    return calls
  }

  unusedOf(window: UsageWindow): number {
    return this.#open.get(window)?.unusedCalls ?? 0
  }

  /** How many calls an entry of this window counts that has these to record: 1, 2, 4 … to the limits, the window's own
   * ones among them. */
  sizeOf(window: UsageWindow, calls: number): number {
    const size = Math.min(window.nextLeaseCalls, leaseCallsMax(window.callsAllowed))
    window.nextLeaseCalls = size * 2
    return calls + Math.max(0, Math.min(size - calls, window.leasableCalls))
  }

  /** Covers the next calls of its window with this entry, if it has unused ones. */
  open(entry: SealedEntry): void {
    if (entry.unusedCalls === 0) return
    entry.window.accept(entry.unusedCalls)
    this.#open.set(entry.window, entry)
    this.#cancelSweep ??= this.#options.clock.after(LEASE_IDLE_MS, () => this.#sweep())
  }

  /** Answers the call from its window's lease, or keeps it for the signature or, near a shared quota's end, the receipt;
   * false when no lease covers it. */
  cover(pending: PendingCall): boolean {
    const { window } = pending
    const lease = this.#open.get(window)
    if (lease === undefined) return false
    lease.unusedCalls -= 1
    if (lease.unusedCalls === 0) this.#open.delete(window)
    pending.callsRemaining = window.callsLeft + lease.unusedCalls
    pending.waitsForReceipt = window.isNearEnd && !lease.isCounted
    if (lease.transactionHash === null || pending.waitsForReceipt) lease.pending.push(pending)
    if (lease.transactionHash !== null) pending.signed(lease.transactionHash, this.#options.clock)
    if (window.isScarce) this.#giveBack([lease])
    return true
  }

  /** Ends the window's lease and returns what was unused of it, 0 or more: it is on its way back. */
  take(window: UsageWindow): number {
    const calls = this.unusedOf(window)
    this.#open.delete(window)
    window.returning(calls)
    return calls
  }

  /** The entry will not be counted: it covers no further call, and its window has the calls back. */
  void(entry: SealedEntry): void {
    if (this.#open.get(entry.window) === entry) this.#open.delete(entry.window)
    entry.window.release(entry.calls)
    entry.unusedCalls = 0
  }

  /** Calls that an entry was to give back are not known to have arrived. */
  notReturned(entry: SealedEntry): void {
    entry.window.returning(entry.calls)
    this.#lost(entry, -entry.calls)
  }

  /** Gives back what is unused of every lease that is counted by now. */
  giveBackAll(): void {
    this.#giveBack([...this.#open.values()])
  }

  /** Cancels the timer; what is still unused is lost. */
  stop(): void {
    this.#cancelSweep?.()
    this.#cancelSweep = null
    for (const lease of this.#open.values()) this.#lost(lease, lease.unusedCalls)
    this.#open.clear()
  }

  #giveBack(leases: readonly SealedEntry[]): void {
    const { clock, giveBack } = this.#options
    // The next window's counter starts at 0: of one that is over nothing needs to go back.
    for (const lease of leases)
      if (lease.windowExpiresAtSeconds * 1000 <= clock.unixMs()) this.#open.delete(lease.window)
    const counted = leases.filter((lease) => lease.isCounted && this.#open.has(lease.window))
    giveBack(counted.map(({ window }) => window))
  }

  /** Calls are counted on the contract that nobody made and that do not go back. */
  #lost({ window, transactionHash: hash }: SealedEntry, calls: number): void {
    const { agent, windowExpiresAtSeconds } = window
    this.#options.totals.lostLeasedCallsTotal += calls
    this.#options.onEvent({ kind: 'lease-lost', agent, windowExpiresAtSeconds, calls, hash })
  }

  #sweep(): void {
    const { clock } = this.#options
    const idleMs = (lease: SealedEntry): number => clock.unixMs() - lease.window.lastCallAtMs
    this.#giveBack([...this.#open.values()].filter((lease) => idleMs(lease) >= LEASE_IDLE_MS))
    let nextMs = LEASE_IDLE_MS
    for (const lease of this.#open.values())
      nextMs = Math.min(nextMs, Math.max(LEASE_SWEEP_MS, LEASE_IDLE_MS - idleMs(lease)))
    this.#cancelSweep = this.isEmpty ? null : clock.after(nextMs, () => this.#sweep())
  }
}
