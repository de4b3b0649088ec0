/**
 * A batch of calls, first open (calls come and may be taken out), then sealed (entries fixed, signed, on its way to
 * its receipt). No policy lives here: usage-recorder.ts says when to seal, usage-sender.ts what to send.
 */

import type { Clock } from '@tallystick/service-kit'
import type { UsageEventListener } from './events.ts'
import type { SignedUsage, UsageEntry } from './usage-ledger.ts'
import {
  OPEN_AGENTS_MAX,
  OPEN_CALLS_MAX,
  RECEIPT_WAIT_MS,
  RETRY_MS_MAX,
  SEAL_AFTER_MS,
  SEAL_AT_AGENTS,
  SEALED_WAITING_MAX,
} from './usage-limits.ts'
import type { UsageSigner } from './usage-queue.ts'
import type { UsageSender } from './usage-sender.ts'
import type { PendingCall, UsageWindow } from './usage-window.ts'

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

/**
 * The open batch and the moment of its sealing (A10): at once when the sender is free, at 50 agents, after 100 ms, but
 * not while four sealed batches wait. It answers the calls of a batch when that is signed, and takes out those that
 * are not sealed within 10 s.
 */

type BatcherOptions = {
  readonly clock: Clock
  readonly signer: UsageSigner
  readonly sender: UsageSender
  readonly onEvent: UsageEventListener
  /** A call was taken out after 10 s; it is not answered yet. */
  readonly onExpired: (pending: PendingCall) => void
  /** Calls were given back to this window. */
  readonly onReleased: (window: UsageWindow) => void
}

/** Gathers accepted calls and seals them. */
export class UsageBatcher {
  readonly #options: BatcherOptions
  #open = new OpenBatch()
  #cancelSeal: (() => void) | null = null
  #cancelPrepare: (() => void) | null = null
  #isPreparing = false
  #isHurried = false

  constructor(options: BatcherOptions) {
    this.#options = options
  }

  /** Calls accepted and not sealed. */
  get openCalls(): number {
    return this.#open.callCount
  }

  /** Whether a call of this window may be added; false when the open batch is at its limits. */
  hasRoomFor(window: UsageWindow): boolean {
    const isCrowded = !this.#open.hasEntryOf(window) && this.#open.entryCount >= OPEN_AGENTS_MAX
    return !isCrowded && this.#open.callCount < OPEN_CALLS_MAX
  }

  /** Adds a call that its window has accepted. */
  add(pending: PendingCall): void {
    const { clock } = this.#options
    this.#open.add(pending, clock.unixMs())
    pending.startTimer(clock, {
      ms: pending.unsealedUntilMs - clock.unixMs(),
      run: () => this.#takeOut(pending),
    })
    this.progress()
  }

  /** From now on seals without waiting for company. */
  hurry(): void {
    this.#isHurried = true
    this.progress()
  }

  /** Seals if A10 says so now, and otherwise arranges to be asked again, where the sender will not. */
  progress(): void {
    const { clock, signer, sender } = this.#options
    if (this.#open.callCount === 0) return
    if (!signer.isReady) {
      this.#prepare()
      return
    }
    if (sender.waitingCount >= SEALED_WAITING_MAX) return
    const dueInMs = (this.#open.openedAtMs ?? 0) + SEAL_AFTER_MS - clock.unixMs()
    const isFull = this.#open.entryCount >= SEAL_AT_AGENTS
    if (sender.isFree || isFull || dueInMs <= 0 || this.#isHurried) this.#seal()
    else
      this.#cancelSeal ??= clock.after(dueInMs, () => {
        this.#cancelSeal = null
        this.progress()
      })
  }

  /** Cancels the timers and answers what is open as unavailable. */
  stop(): void {
    this.#cancelSeal?.()
    this.#cancelPrepare?.()
    this.#giveBack(this.#close())
  }

  #close(): SealedEntry[] {
    const entries = this.#open.toEntries()
    this.#open = new OpenBatch()
    this.#cancelSeal?.()
    this.#cancelSeal = null
    return entries
  }

  #seal(): void {
    void this.#sign(this.#close())
  }

  async #sign(entries: readonly SealedEntry[]): Promise<void> {
    const { sender, onEvent } = this.#options
    try {
      const { hash } = await sender.seal(entries)
      this.#answer(entries, hash)
    } catch (error) {
      onEvent({ kind: 'ledger-failed', step: 'sign', reason: 'unsigned', retryMs: 0, error })
      this.#giveBack(entries)
    }
  }

  #answer(entries: readonly SealedEntry[], transactionHash: string): void {
    for (const pending of entries.flatMap((entry) => entry.pending)) {
      if (pending.waitsForReceipt)
        pending.startTimer(this.#options.clock, {
          ms: RECEIPT_WAIT_MS,
          run: () => pending.settle({ kind: 'unavailable' }),
        })
      else
        pending.settle({
          kind: 'recorded',
          transactionHash,
          callsRemaining: pending.callsRemaining,
        })
    }
  }

  #giveBack(entries: readonly SealedEntry[]): void {
    for (const entry of entries) {
      entry.window.release(entry.calls)
      for (const pending of entry.pending) pending.settle({ kind: 'unavailable' })
      this.#options.onReleased(entry.window)
    }
  }

  #takeOut(pending: PendingCall): void {
    if (!this.#open.takeOut(pending)) return
    pending.window.release(1)
    this.#options.onExpired(pending)
    this.#options.onReleased(pending.window)
  }

  #prepare(): void {
    if (this.#isPreparing || this.#cancelPrepare !== null) return
    this.#isPreparing = true
    void this.#readNonceAndPrice()
  }

  async #readNonceAndPrice(): Promise<void> {
    const { clock, signer, onEvent } = this.#options
    try {
      await signer.prepare()
      this.#isPreparing = false
      this.progress()
    } catch (error) {
      this.#isPreparing = false
      const failure = { step: 'prepare', reason: 'unreachable', retryMs: RETRY_MS_MAX } as const
      onEvent({ kind: 'ledger-failed', ...failure, error })
      this.#cancelPrepare = clock.after(RETRY_MS_MAX, () => {
        this.#cancelPrepare = null
        this.progress()
      })
    }
  }
}
