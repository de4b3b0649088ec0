import type { Clock } from '@tallystick/service-kit'
import type { WindowId } from './usage-ledger.ts'
import { RECEIPT_WAIT_MS, UNSEALED_MS_MAX } from './usage-limits.ts'
import type { UsageWindow } from './usage-window.ts'

/** One metered call, with its window as the read that admits it saw it. */
export type UsageCall = WindowId & {
  /** When that window begins or began, Unix seconds. */
  readonly windowStartsAtSeconds: number
  /** Quota of that window, calls. */
  readonly callsAllowed: number
  /** Calls counted in that window by the chain read that admitted the call. */
  readonly callsUsedInRead: number
  /** When that read was requested, Unix milliseconds. */
  readonly readAtMs: number
}

/** What became of a metered call. */
export type UsageOutcome =
  | {
      readonly kind: 'recorded'
      /** Hash of the transaction that records the call, or recorded it beforehand (A18), 0x-prefixed. */
      readonly transactionHash: string
      /** Calls left in the window after this one, unused leased ones of this process included. */
      readonly callsRemaining: number
    }
  /** The window's quota is spent: 429. */
  | { readonly kind: 'quota-spent' }
  /** Not sealed within 10 s, or the ledger cannot be written: 502. */
  | { readonly kind: 'unavailable' }

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
