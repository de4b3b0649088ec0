/**
 * A batch of calls, first open (calls come and may be taken out), then sealed (entries fixed, signed, on its way to
 * its receipt). No policy lives here: usage-recorder.ts says when to seal, usage-sender.ts what to send.
 */

import type { PendingCall } from './usage-call.ts'
import type { SignedUsage, UsageEntry } from './usage-ledger.ts'
import type { UsageWindow } from './usage-window.ts'

/** Accepted calls of one agent in one window, merged (A10). */
export type SealedEntry = UsageEntry & {
  readonly window: UsageWindow
  /** In order of acceptance. */
  readonly pending: readonly PendingCall[]
}

/** The batch that takes calls. */
export class OpenBatch {
  /** When its first call came, Unix milliseconds; null while it had none. */
  #openedAtMs: number | null = null
  readonly #calls = new Map<UsageWindow, Set<PendingCall>>()
  #callCount = 0

  /** Adds an accepted call. */
  add(pending: PendingCall, nowMs: number): void {
    this.#openedAtMs ??= nowMs
    const calls = this.#calls.get(pending.window)
    if (calls === undefined) this.#calls.set(pending.window, new Set([pending]))
    else calls.add(pending)
    this.#callCount += 1
  }

  /** Takes a call out again; false if it is not in this batch. */
  takeOut(pending: PendingCall): boolean {
    const calls = this.#calls.get(pending.window)
    if (calls?.delete(pending) !== true) return false
    if (calls.size === 0) this.#calls.delete(pending.window)
    this.#callCount -= 1
    if (this.#callCount === 0) this.#openedAtMs = null
    return true
  }

  hasEntryOf(window: UsageWindow): boolean {
    return this.#calls.has(window)
  }

  /** Agents, each counted once per window. */
  get entryCount(): number {
    return this.#calls.size
  }

  get callCount(): number {
    return this.#callCount
  }

  get openedAtMs(): number | null {
    return this.#openedAtMs
  }

  /** The merged entries, in order of their first call. */
  toEntries(): SealedEntry[] {
    return [...this.#calls].map(([window, calls]) => ({
      agent: window.agent,
      windowExpiresAtSeconds: window.windowExpiresAtSeconds,
      calls: calls.size,
      window,
      pending: [...calls],
    }))
  }
}

/** A signed batch until its receipt. A batch without entries only consumes a nonce. */
export class SealedBatch {
  readonly entries: readonly SealedEntry[]
  /** All signatures that may still be mined; all but the last offered too low a gas price for the same nonce. */
  signatures: readonly SignedUsage[]
  #current: SignedUsage
  /** False while it is certain that the ledger never had the bytes. */
  isDelivered = false
  isAccepted = false
  isReceipted = false
  /** When the ledger last took it, Unix milliseconds. */
  sentAtMs = 0
  /** Since when its nonce is known to be consumed though it has no receipt, Unix milliseconds. */
  consumedSinceMs: number | null = null
  /** When a later transaction was last asked for as proof of that, Unix milliseconds. */
  probedAtMs = 0

  constructor(entries: readonly SealedEntry[], signed: SignedUsage) {
    this.entries = entries
    this.signatures = [signed]
    this.#current = signed
  }

  get current(): SignedUsage {
    return this.#current
  }

  get nonce(): number {
    return this.#current.nonce
  }

  get callCount(): number {
    return this.entries.reduce((sum, entry) => sum + entry.calls, 0)
  }

  /** Takes a signature with the same nonce, beside the ones that may still be mined, or with another, in their place. */
  resign(signed: SignedUsage): void {
    const isSameNonce = signed.nonce === this.nonce
    this.signatures = isSameNonce ? [...this.signatures, signed] : [signed]
    this.#current = signed
    this.consumedSinceMs = null
    if (!isSameNonce) {
      this.isDelivered = false
      this.isAccepted = false
    }
  }
}
