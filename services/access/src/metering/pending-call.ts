import type { Clock } from '@tallystick/service-kit'
import type { UsageOutcome } from './usage-call.ts'
import { RECEIPT_WAIT_MS, UNSEALED_MS_MAX } from './usage-limits.ts'
import type { UsageWindow } from './usage-window.ts'

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

  /** Its transaction is signed: the call is answered, or waits at most 20 s for the receipt (A11). */
  signed(transactionHash: string): void {
    if (this.waitsForReceipt)
      this.#startTimer(RECEIPT_WAIT_MS, () => this.settle({ kind: 'unavailable' }))
    else this.settleRecorded(transactionHash)
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
