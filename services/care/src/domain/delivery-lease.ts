import type { EventSubscriptions } from './event-subscription.ts'

/** How long a process has the right to deliver without renewing it. */
const LEASE_MS = 30_000
/** A delivery must end before the lease does: it takes 10 s at most. */
const LEASE_REST_MS = 12_000

export type LeaseOptions = {
  readonly subscriptions: Pick<EventSubscriptions, 'lease'>
  readonly clock: { unixMs(): number }
  readonly holder: string
  /** Whether no other process can open the store. */
  readonly isAlone: boolean
}

/**
 * The right to deliver, which one process has at a time. It expires by the clock, and clocks differ. Its number does not: a
 * write under a number that another process has superseded is refused.
 */
export class DeliveryLease {
  readonly #of: LeaseOptions
  #fence: number | undefined
  #endsMs = 0

  constructor(of: LeaseOptions) {
    this.#of = of
  }

  /** The number, undefined while another process delivers. */
  get fence(): number | undefined {
    return this.#fence
  }

  async renew(): Promise<void> {
    const { clock, holder, isAlone, subscriptions } = this.#of
    if (this.#fence !== undefined && isAlone) return
    const nowMs = clock.unixMs()
    const untilMs = nowMs + LEASE_MS
    this.#fence = await subscriptions.lease({ holder, nowMs, untilMs, isAlone })
    this.#endsMs = isAlone ? Number.POSITIVE_INFINITY : untilMs
  }

  /** Another process has taken over. */
  lose(): void {
    this.#fence = undefined
  }

  /** Whether a delivery that begins now ends in time. */
  hasTime(): boolean {
    return this.#fence !== undefined && this.#endsMs - this.#of.clock.unixMs() >= LEASE_REST_MS
  }
}
