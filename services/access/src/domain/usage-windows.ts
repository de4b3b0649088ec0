import type { Clock } from '@tallystick/service-kit'
import { FORGET_AFTER_SECONDS, FORGET_SWEEP_MS } from './usage-limits.ts'
import { UsageWindow } from './usage-window.ts'

/** One key per agent and window. */
export function usageWindowKey(window: { agent: string; windowExpiresAtSeconds: number }): string {
  return `${window.agent}/${window.windowExpiresAtSeconds}`
}

/**
 * The windows of this process. One is forgotten 60 s after it closed by the server's clock, but never while a call in
 * it is unreceipted; after that its counter comes from the next read again.
 */
export class UsageWindows {
  readonly #clock: Clock
  readonly #windows = new Map<string, UsageWindow>()
  #cancelSweep: (() => void) | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The window's state, made at first sight. */
  open(window: { agent: string; windowExpiresAtSeconds: number }): UsageWindow {
    const key = usageWindowKey(window)
    const known = this.#windows.get(key)
    if (known !== undefined) return known
    const made = new UsageWindow(window)
    this.#windows.set(key, made)
    this.#cancelSweep ??= this.#clock.after(FORGET_SWEEP_MS, () => this.#sweep())
    return made
  }

  /** The window's state, if this process has one. */
  find(window: { agent: string; windowExpiresAtSeconds: number }): UsageWindow | undefined {
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
