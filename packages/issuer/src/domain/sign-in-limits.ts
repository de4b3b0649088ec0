/** How often passwords may be tried: by one address for one name, by one address, and for one name. */
import { BoundedMap } from '@tallystick/service-kit'

/** Failures are forgotten after this, milliseconds. */
const WINDOW_MS = 900_000
/** A person mistypes, a program guesses. */
const FAILURES_MAX = { pair: 5, address: 30, name: 100 } as const
/** Names and addresses that are remembered; strangers choose them. */
const REMEMBERED_MAX = 20_000

type Attempt = { readonly name: string; readonly address: string }
type Failures = { readonly count: number; readonly untilMs: number }

export class SignInLimits {
  readonly #clock: { unixMs(): number }
  readonly #failures = new BoundedMap<string, Failures>(REMEMBERED_MAX)

  constructor(clock: { unixMs(): number }) {
    this.#clock = clock
  }

  /** Whether this attempt may be made. */
  allows(attempt: Attempt): boolean {
    return this.#keys(attempt).every(([key, max]) => this.#current(key).count < max)
  }

  failed(attempt: Attempt): void {
    this.#add(attempt, 1)
  }

  /** It did not fail after all. */
  forgive(attempt: Attempt): void {
    this.#add(attempt, -1)
  }

  #add(attempt: Attempt, failures: 1 | -1): void {
    for (const [key] of this.#keys(attempt)) {
      const { count, untilMs } = this.#current(key)
      this.#failures.set(key, { count: Math.max(0, count + failures), untilMs })
    }
  }

  #keys({ name, address }: Attempt): readonly (readonly [string, number])[] {
    return [
      [`pair ${address} ${name}`, FAILURES_MAX.pair],
      [`address ${address}`, FAILURES_MAX.address],
      [`name ${name}`, FAILURES_MAX.name],
    ]
  }

  #current(key: string): Failures {
    const nowMs = this.#clock.unixMs()
    const known = this.#failures.get(key)
    return known !== undefined && known.untilMs > nowMs
      ? known
      : { count: 0, untilMs: nowMs + WINDOW_MS }
  }
}
