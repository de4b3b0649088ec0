import type { Clock } from '@tallystick/service-kit'
import type { UsageWindow } from './usage-window.ts'

/** One metered call, as the chain read that admits it saw its window. */
export type UsageCall = {
  /** Lower-case EVM address. */
  readonly agent: string
  /** End of the window in which the call is served, as projected by the read. Unix seconds. */
  readonly windowExpiresAtSeconds: number
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
