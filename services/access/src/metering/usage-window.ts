/**
 * The counter of one agent's window as this process knows it: what reads and receipts showed, which calls it accepted or
 * leased that no receipt settles yet, and the quota left. A state never changes: `nextWindow` returns the one that follows.
 * Nothing here decides about batches or transactions. A counter falls only where calls are given back (A18): by this process,
 * which knows its own transactions, or by another one, which only a later read shows.
 */
import type { UsageCall } from './usage-call.ts'
import type { WindowId } from './usage-ledger.ts'
import {
  LEASE_PARTS_PER_RECORDER,
  READ_LAG_MS,
  RECEIPT_WAIT_CALLS_PER_RECORDER,
  SCARCE_QUOTA_PERCENT,
  UNBEGUN_CALLS_MAX,
  UNSHOWN_CALLS_MAX,
} from './usage-limits.ts'

/** A receipt counts calls of this process in one window, or gives some back. */
type CountedCalls = {
  readonly calls: number
  /** The window's counter after them. */
  readonly usedAfter: number
  /** When this process read the receipt, Unix milliseconds. */
  readonly atMs: number
}

/** All counts are calls. */
export type WindowState = {
  readonly callsAllowed: number
  /** Processes that may count in it, this one included. */
  readonly recorderCount: number
  /** A receipt or a read shows calls in it, or the latest block is past its start (A9). */
  readonly isBegun: boolean
  /** The contract refused some of its calls: no more go out until a read shows it as begun (A9). */
  readonly isRefused: boolean
  /** The contract refused the last entry, so that what is left is less than this process knows. */
  readonly isUncertain: boolean
  /** Another process counted in it after this one did. */
  readonly isContended: boolean
  /** Certainly used, not counting unreceipted calls: from the last receipt, or a read while none was unreceipted. */
  readonly settledCalls: number
  /** Counter that chain reads showed: the last read, or for a lone recorder the highest. */
  readonly readCalls: number
  /** Accepted or leased, and without a receipt. */
  readonly unreceiptedCalls: number
  /** Calls that receipts counted for this process, less what went back. */
  readonly ownCalls: number
  /** Fewest calls that others certainly made in it. */
  readonly othersCalls: number
  /** Leased calls on their way back. */
  readonly returningCalls: number
  /** Calls that this process gave back and that a read may still count. */
  readonly givenBackCalls: number
  /** When the last receipt came, Unix milliseconds; null before. */
  readonly receiptedAtMs: number | null
  /** Receipted calls that no read shows yet (A11). */
  readonly unshown: readonly CountedCalls[]
  /** A18: how many calls the next entry counts; it grows with each. */
  readonly nextLeaseCalls: number
  /** A18: entries that this process made for it, those that give back included, less those whose transaction failed. */
  readonly entries: number
}

export type WindowChange =
  /** A chain read that was asked at that time showed this counter. It may lag. */
  | {
      readonly kind: 'read'
      readonly callsAllowed: number
      readonly callsUsed: number
      readonly askedAtMs: number
    }
  /** The ledger no longer shows the window, and no read can: receipts count instead. */
  | { readonly kind: 'closed' }
  /** The latest block is past its start. */
  | { readonly kind: 'begun' }
  /** Calls were accepted and will be recorded. */
  | { readonly kind: 'accepted'; readonly calls: number }
  /** An entry was made that leases so many calls beyond the accepted ones, 0 or more (A18). */
  | { readonly kind: 'lease'; readonly calls: number; readonly isBehind: boolean }
  /** Accepted or leased calls will not be counted: taken out, refused, late, reverted or given up. */
  | { readonly kind: 'released'; readonly calls: number }
  /** An entry's transaction failed: it takes none of the entries that use may take (A18). */
  | { readonly kind: 'entry-failed' }
  /** The contract refused some of its calls. */
  | { readonly kind: 'refused' }
  /** A receipt counted accepted or leased calls. Receipts come in the order of their transactions. */
  | ({ readonly kind: 'receipt' } & CountedCalls)
  /** An entry was made that gives leased calls back, or, with a negative count, did not. */
  | { readonly kind: 'returning'; readonly calls: number }
  /** A receipt gave leased calls back. */
  | ({ readonly kind: 'givenBack' } & CountedCalls)

/** A window of which nothing is known. */
export function newWindow(options: {
  readonly callsAllowed: number
  readonly recorderCount: number
}): WindowState {
  return {
    ...options,
    isBegun: false,
    isRefused: false,
    isUncertain: false,
    isContended: false,
    settledCalls: 0,
    readCalls: 0,
    unreceiptedCalls: 0,
    ownCalls: 0,
    othersCalls: 0,
    returningCalls: 0,
    givenBackCalls: 0,
    receiptedAtMs: null,
    unshown: [],
    nextLeaseCalls: 1,
    entries: 0,
  }
}

export function nextWindow(window: WindowState, change: WindowChange): WindowState {
  switch (change.kind) {
    case 'read':
      return applyRead({ ...window, callsAllowed: change.callsAllowed }, change)
    case 'closed':
      return { ...window, unshown: [] }
    case 'begun':
      return { ...window, isBegun: true }
    case 'accepted':
      return { ...window, unreceiptedCalls: window.unreceiptedCalls + change.calls }
    case 'lease':
      return {
        ...window,
        unreceiptedCalls: window.unreceiptedCalls + change.calls,
        nextLeaseCalls: 2 * leaseLength(window, change.isBehind),
        entries: window.entries + 1,
      }
    case 'released':
      return { ...window, unreceiptedCalls: window.unreceiptedCalls - change.calls }
    case 'entry-failed':
      return { ...window, entries: window.entries - 1 }
    case 'refused':
      return { ...window, isRefused: true, isUncertain: true }
    case 'receipt':
      return applyReceipt(window, change)
    case 'returning':
      return {
        ...window,
        returningCalls: window.returningCalls + change.calls,
        entries: change.calls > 0 ? window.entries + 1 : window.entries,
      }
    case 'givenBack':
      return applyReturn(window, change)
    default:
      return change satisfies never
  }
}

function applyRead(
  window: WindowState,
  { callsUsed: callsUsedInRead, askedAtMs }: Extract<WindowChange, { kind: 'read' }>,
): WindowState {
  const { ownCalls, receiptedAtMs, unreceiptedCalls } = window
  const isLate = receiptedAtMs === null || askedAtMs - receiptedAtMs > READ_LAG_MS
  const givenBackCalls = isLate ? 0 : window.givenBackCalls
  // Where this process alone gives calls back, a read that shows less than an earlier one only lags.
  const readCalls = isShared(window)
    ? callsUsedInRead
    : Math.max(window.readCalls, callsUsedInRead - givenBackCalls)
  // A late read counts all that receipts did: if it shows less, another process gave calls back.
  const settledCalls =
    isLate && isShared(window)
      ? Math.min(window.settledCalls, callsUsedInRead)
      : window.settledCalls
  const hasReceipts = unreceiptedCalls === 0
  const showsOthers =
    hasReceipts && receiptedAtMs !== null && callsUsedInRead - givenBackCalls > settledCalls
  return {
    ...window,
    isBegun: window.isBegun || callsUsedInRead > 0,
    isContended: window.isContended || showsOthers,
    settledCalls: hasReceipts ? Math.max(settledCalls, readCalls) : settledCalls,
    readCalls,
    othersCalls: countOthers(
      window,
      callsUsedInRead - ownCalls - unreceiptedCalls - window.givenBackCalls,
    ),
    givenBackCalls,
    unshown: isLate ? [] : window.unshown.filter((receipt) => receipt.usedAfter > callsUsedInRead),
  }
}

function applyReceipt(window: WindowState, receipt: CountedCalls): WindowState {
  const showsOthers =
    window.receiptedAtMs !== null && receipt.usedAfter > window.settledCalls + receipt.calls
  const isUnshown = isShared(window) && receipt.usedAfter > window.readCalls
  return settle(receipt, {
    ...window,
    isContended: window.isContended || showsOthers,
    unreceiptedCalls: window.unreceiptedCalls - receipt.calls,
    ownCalls: window.ownCalls + receipt.calls,
    unshown: isUnshown ? [...window.unshown, receipt] : window.unshown,
  })
}

function applyReturn(window: WindowState, receipt: CountedCalls): WindowState {
  return settle(receipt, {
    ...window,
    returningCalls: window.returningCalls - receipt.calls,
    givenBackCalls: window.givenBackCalls + receipt.calls,
    ownCalls: window.ownCalls - receipt.calls,
    readCalls: Math.min(window.readCalls, receipt.usedAfter),
  })
}

function settle({ atMs, usedAfter }: CountedCalls, window: WindowState): WindowState {
  return {
    ...window,
    isBegun: true,
    isUncertain: false,
    receiptedAtMs: atMs,
    settledCalls: usedAfter,
    othersCalls: countOthers(window, usedAfter - window.ownCalls),
  }
}

/** Fewest calls that others certainly made, now that so many are counted that are not this process's. Each other recorder
 * may give the calls of a lease back. */
function countOthers(window: WindowState, calls: number): number {
  const unusedMax = (window.recorderCount - 1) * leaseCallsMax(window.callsAllowed)
  return Math.max(window.othersCalls, calls - unusedMax)
}

/** Counts what is certainly used. */
export function callsUsed(window: WindowState): number {
  return Math.max(window.readCalls, window.settledCalls)
}

/** A9: quota − max(used in the read, used in the last receipt) − accepted and unreceipted. More are left if the read already
 * counts some of the latter. May be negative. */
export function callsRemainingAtLeast(window: WindowState): number {
  return window.callsAllowed - callsUsed(window) - window.unreceiptedCalls
}

/** Calls left if the read already counts every unreceipted call that it can, and those on their way back arrive. May be
 * negative; an agent hears 0 then. */
export function callsRemaining(window: WindowState): number {
  const { callsAllowed, readCalls, returningCalls, settledCalls, unreceiptedCalls } = window
  return callsAllowed - Math.max(readCalls, settledCalls + unreceiptedCalls) + returningCalls
}

/** True when a read shows calls that may be unreceipted ones of this process, so that A9 may count them twice. */
export function mayCountTwice(window: WindowState): boolean {
  return window.unreceiptedCalls > 0 && window.readCalls > window.settledCalls
}

/** A9, A11: too many calls are out that the ledger does not show yet. A new entry waits until it may count enough (A18). */
export function mustWait(window: WindowState, needsEntry: boolean): boolean {
  const callsMin = needsEntry ? Math.min(entryCallsMin(window), callsRemaining(window)) : 1
  if (isShared(window) && UNSHOWN_CALLS_MAX - callsUnshown(window) < Math.max(1, callsMin))
    return true
  return !window.isBegun && (window.isRefused || window.unreceiptedCalls >= UNBEGUN_CALLS_MAX)
}

/** A11: other processes may claim what is left, too. */
export function isNearEnd(window: WindowState): boolean {
  const callsMin = window.recorderCount * RECEIPT_WAIT_CALLS_PER_RECORDER
  return isShared(window) && callsRemainingAtLeast(window) < callsMin
}

/** A18: little is left, and other processes count here. */
export function isScarce(window: WindowState): boolean {
  if (!isShared(window) || !window.isContended) return false
  const callsUncounted = window.callsAllowed - callsUsed(window)
  return callsUncounted * 100 < window.callsAllowed * SCARCE_QUOTA_PERCENT
}

/** A18: counts the calls of the next entry, its accepted ones included: 1, 2, 4 … up to the longest lease. While batches wait it
 * is the longest at once, since the next calls cannot each have a batch. */
export function leaseLength(window: WindowState, isBehind: boolean): number {
  const longest = leaseCallsMax(window.callsAllowed)
  return isBehind ? longest : Math.min(window.nextLeaseCalls, longest)
}

/** A18: counts what may be leased now. May be negative. */
export function callsLeasable(window: WindowState): number {
  if (window.isUncertain) return 0
  const limits = [callsRemainingAtLeast(window)]
  if (!window.isBegun) limits.push(UNBEGUN_CALLS_MAX - window.unreceiptedCalls)
  if (isShared(window)) limits.push(UNSHOWN_CALLS_MAX - callsUnshown(window))
  return Math.min(...limits)
}

/** A18: most calls that the next entry leases while the entries left to this process do. */
export function leaseShare(window: WindowState): number {
  if (!isShared(window)) return Number.POSITIVE_INFINITY
  const parts = window.recorderCount * LEASE_PARTS_PER_RECORDER
  return isScarce(window) ? 0 : Math.floor(callsRemainingAtLeast(window) / parts)
}

/** A18: fewest calls that the next entry counts, so that the entries left to this process do for all that may come;
 * `calls` of them are accepted already. */
export function entryCallsMin(window: WindowState, calls = 0): number {
  const callsMin = callsAhead(window) + calls - callsInEntriesLeft(window)
  const longest = leaseCallsMax(window.callsAllowed)
  return window.isUncertain ? 1 : Math.max(1, Math.min(callsMin, longest))
}

/** A18: this process made all its entries. Calls are left if the contract refused one of them, since another process had
 * counted meanwhile, or if others gave calls back: those have entries for them. */
export function isExhausted(window: WindowState): boolean {
  return isShared(window) && window.entries >= countEntries(window.callsAllowed)
}

/** A18: true if so many unused calls may go back: the entries left to this process still do for all that may come. */
export function mayGiveBack(window: WindowState, calls: number): boolean {
  return isShared(window) && callsAhead(window) + calls <= callsInEntriesLeft(window)
}

/** Counts what this process may still have to record: all but its own calls and what others certainly made. */
function callsAhead(window: WindowState): number {
  const ownCalls = window.ownCalls + window.unreceiptedCalls - window.returningCalls
  return window.callsAllowed - ownCalls - window.othersCalls
}

/** Counts the calls that fit the entries left to this process after the next one. */
function callsInEntriesLeft({ callsAllowed, entries }: WindowState): number {
  return Math.max(0, countEntries(callsAllowed) - entries - 1) * leaseCallsMax(callsAllowed)
}

/** A11: counts the calls of this process that no chain read shows yet. */
export function callsUnshown(window: WindowState): number {
  return window.unshown.reduce((sum, receipt) => sum + receipt.calls, window.unreceiptedCalls)
}

/** True if other processes may count in it. */
export function isShared(window: WindowState): boolean {
  return window.recorderCount > 1
}

/** One window of this process, by which batches and leases know it. */
export class UsageWindow {
  readonly agent: string
  readonly windowExpiresAtSeconds: number
  readonly windowStartsAtSeconds: number
  /** When its agent called last, Unix milliseconds. */
  lastCallAtMs = 0
  #state: WindowState

  constructor(call: Omit<UsageCall, 'callsUsedInRead' | 'readAtMs'>, recorderCount: number) {
    this.agent = call.agent
    this.windowExpiresAtSeconds = call.windowExpiresAtSeconds
    this.windowStartsAtSeconds = call.windowStartsAtSeconds
    this.#state = newWindow({ callsAllowed: call.callsAllowed, recorderCount })
  }

  get state(): WindowState {
    return this.#state
  }

  change(change: WindowChange): void {
    this.#state = nextWindow(this.#state, change)
  }
}

/** Returns one key per agent and window. */
export function usageWindowKey(window: WindowId): string {
  return `${window.agent}/${window.windowExpiresAtSeconds}`
}

/** A18: most calls that one entry counts, its lease included. */
const LEASE_CALLS_MAX = 50
/** A18: most that it counts, percent of the quota: what a killed process costs its agent. */
const LEASE_QUOTA_PERCENT = 5
/** A18: the longest lease of a quota, calls. */
export const leaseCallsMax = (callsAllowed: number): number =>
  Math.max(1, Math.min(LEASE_CALLS_MAX, Math.floor((callsAllowed * LEASE_QUOTA_PERCENT) / 100)))
/**
 * A18: entries that count so many calls of a quota by leases of 1, 2, 4 … up to the longest. For the whole quota, the most
 * that one process makes in a window, whatever comes: 25 of a quota of 1,000.
 */
export function countEntries(callsAllowed: number, calls = callsAllowed): number {
  const longest = leaseCallsMax(callsAllowed)
  let entries = 0
  let callsLeft = calls
  for (let lease = 1; callsLeft > 0 && lease < longest; lease *= 2) {
    callsLeft -= lease
    entries += 1
  }
  return entries + Math.ceil(Math.max(0, callsLeft) / longest)
}
