/**
 * What this process knows about the counter of one agent's window: what reads and receipts showed, and which calls it
 * accepted that no receipt settles yet. It decides nothing about time, batches or transactions.
 */

/** The counter of one window as far as this process knows it. All counts are calls. */
export class UsageWindow {
  readonly agent: string
  readonly windowExpiresAtSeconds: number
  /** Used for certain, besides every unreceipted call: the last receipt, or a read while none was unreceipted. */
  #settledCalls = 0
  /** Highest counter that a chain read showed. The counter of a window never falls. */
  #readCalls = 0
  #unreceiptedCalls = 0
  /** Receipted calls that no read shows yet, with the counter after each (A11). */
  #unshown: { readonly usedAfter: number; readonly calls: number }[] = []

  constructor(window: { agent: string; windowExpiresAtSeconds: number }) {
    this.agent = window.agent
    this.windowExpiresAtSeconds = window.windowExpiresAtSeconds
  }

  /** A chain read showed this counter. A read that lags changes nothing. */
  sawRead(callsUsed: number): void {
    this.#readCalls = Math.max(this.#readCalls, callsUsed)
    if (this.#unreceiptedCalls === 0)
      this.#settledCalls = Math.max(this.#settledCalls, this.#readCalls)
    this.#unshown = this.#unshown.filter((receipt) => receipt.usedAfter > this.#readCalls)
  }

  /** The ledger shows this window no more, so that no read can: receipts stand for it. */
  sawClosed(): void {
    this.#unshown = []
  }

  /** One call was accepted and will be recorded. */
  accept(): void {
    this.#unreceiptedCalls += 1
  }

  /** Accepted calls will not be counted: taken out, refused, late, reverted or given up. */
  release(calls: number): void {
    this.#unreceiptedCalls -= calls
  }

  /** A receipt counted accepted calls; `usedAfter` is the window's counter after them. */
  count(receipt: { calls: number; usedAfter: number }): void {
    this.#unreceiptedCalls -= receipt.calls
    this.#settledCalls = Math.max(this.#settledCalls, receipt.usedAfter)
    if (receipt.usedAfter > this.#readCalls) this.#unshown.push(receipt)
  }

  /** A9: quota − max(used in the read, used in the last receipt) − accepted and unreceipted. May be negative. */
  callsRemaining(callsAllowed: number): number {
    return callsAllowed - Math.max(this.#readCalls, this.#settledCalls) - this.#unreceiptedCalls
  }

  /** The same, if the read already counts every unreceipted call that it can: an upper bound. */
  callsRemainingAtBest(callsAllowed: number): number {
    return callsAllowed - Math.max(this.#readCalls, this.#settledCalls + this.#unreceiptedCalls)
  }

  /** True when a read shows calls that may be unreceipted ones of this process, so that A9 may count them twice. */
  get mayCountTwice(): boolean {
    return this.#unreceiptedCalls > 0 && this.#readCalls > this.#settledCalls
  }

  /** A11: calls of this process that no chain read shows yet. */
  get callsUnshown(): number {
    return this.#unshown.reduce((sum, receipt) => sum + receipt.calls, this.#unreceiptedCalls)
  }

  get unreceiptedCalls(): number {
    return this.#unreceiptedCalls
  }
}
