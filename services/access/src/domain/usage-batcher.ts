/**
 * The open batch and the moment of its sealing (A10): at once when the sender is free, at 50 agents, after 40 ms, but not
 * while the queue of sealed ones is full. It answers the calls of a batch when that is signed, and takes out those that are
 * not sealed within 10 s. While batches wait, one also carries the next calls of agents that need some soon (A18).
 */
import { type Clock, pause } from '@tallystick/service-kit'
import type { UsageEventListener } from './events.ts'
import type { PendingCall } from './pending-call.ts'
import { OpenBatch, SealedEntry } from './usage-batch.ts'
import type { UsageLeases } from './usage-lease.ts'
import {
  OPEN_AGENTS_MAX,
  OPEN_CALLS_MAX,
  RETRY_MS_MAX,
  SEAL_AFTER_MS,
  SEAL_AT_AGENTS,
  SEALED_WAITING_MAX,
  UNSENT_CALLS_MAX,
} from './usage-limits.ts'
import type { UsageSigner } from './usage-queue.ts'
import type { UsageSender } from './usage-sender.ts'
import type { UsageWindow } from './usage-window.ts'

type BatcherOptions = {
  readonly clock: Clock
  readonly signer: UsageSigner
  readonly sender: UsageSender
  readonly leases: UsageLeases
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
  readonly #stopped = new AbortController()
  #isPreparing = false
  #isHurried = false

  constructor(options: BatcherOptions) {
    this.#options = options
  }

  /** Calls accepted and not sealed. */
  get openCalls(): number {
    return this.#open.callCount
  }

  /** Nothing is to be sealed. */
  get isEmpty(): boolean {
    return this.#open.entryCount === 0
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

  /** Adds what is unused of these windows' leases, as it is when the batch is sealed: calls until then still use it. */
  giveBack(windows: readonly UsageWindow[]): void {
    for (const window of windows)
      if (this.hasRoomFor(window)) this.#open.addReturn(window, this.#options.clock.unixMs())
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
    if (this.isEmpty) return
    if (!signer.isReady) {
      void this.#prepare()
      return
    }
    const dueInMs = (this.#open.openedAtMs ?? 0) + SEAL_AFTER_MS - clock.unixMs()
    const isFull = this.#open.entryCount >= SEAL_AT_AGENTS
    if (sender.isFree || isFull || dueInMs <= 0 || this.#isHurried) {
      if (!this.#isQueueFull) this.#seal()
    } else
      this.#cancelSeal ??= clock.after(dueInMs, () => {
        this.#cancelSeal = null
        this.progress()
      })
  }

  /** A10: nothing is signed beyond the window of nonces, nor beyond what may be lost at a kill. */
  get #isQueueFull(): boolean {
    const { sender } = this.#options
    return sender.waitingCount >= SEALED_WAITING_MAX || sender.unsentCalls >= UNSENT_CALLS_MAX
  }

  /** Cancels the timers and answers what is open as unavailable. */
  stop(): void {
    this.#cancelSeal?.()
    this.#stopped.abort()
    for (const [window, calls] of this.#close().calls) {
      window.release(calls.size)
      for (const pending of calls) pending.settle({ kind: 'unavailable' })
    }
  }

  #close(): OpenBatch {
    const closed = this.#open
    this.#open = new OpenBatch()
    this.#cancelSeal?.()
    this.#cancelSeal = null
    return closed
  }

  #seal(): void {
    const { clock, leases, sender } = this.#options
    const { returning, calls } = this.#close()
    const isBehind = sender.waitingCount > 0
    const entries: SealedEntry[] = []
    for (const window of returning) {
      const unused = leases.take(window)
      if (unused > 0) entries.push(new SealedEntry({ window, calls: -unused }))
    }
    for (const [window, pending] of calls) {
      const size = leases.sizeOf(window, pending.size, isBehind)
      const entry = new SealedEntry({ window, calls: size, pending: [...pending] })
      leases.open(entry)
      entries.push(entry)
    }
    for (const entry of isBehind ? leases.extend(calls) : []) {
      leases.open(entry)
      entries.push(entry)
    }
    if (entries.length === 0) return
    const hash = sender.seal(entries)
    for (const pending of entries.flatMap((entry) => entry.pending)) pending.signed(hash, clock)
  }

  #takeOut(pending: PendingCall): void {
    if (!this.#open.takeOut(pending)) return
    pending.window.release(1)
    this.#options.onExpired(pending)
    this.#options.onReleased(pending.window)
  }

  /** Reads what signing needs, as often as it takes. */
  async #prepare(): Promise<void> {
    const { clock, signer, onEvent } = this.#options
    if (this.#isPreparing) return
    this.#isPreparing = true
    try {
      await signer.prepare()
    } catch (error) {
      const failure = { step: 'prepare', reason: 'unreachable', retryMs: RETRY_MS_MAX } as const
      onEvent({ kind: 'ledger-failed', ...failure, error })
      await pause(clock, RETRY_MS_MAX, this.#stopped.signal)
    }
    this.#isPreparing = false
    this.progress()
  }
}
