/** How often strangers may try: passwords per address and name, per address and per name; registrations. */
import { BoundedMap } from '@tallystick/service-kit'

/** Wrong passwords are forgotten after this. */
const SIGN_IN_WINDOW_MS = 900_000
/** A person mistypes, a program guesses. */
const FAILURES_MAX = { pair: 5, address: 30, name: 100 } as const
/** Names and addresses remembered; strangers choose them. */
const REMEMBERED_MAX = 20_000
/** A person tries a few programs in an hour; more would push other programs out of the store. */
const REGISTRATIONS_MAX = 20
const REGISTRATION_WINDOW_MS = 3_600_000

type TimeSource = { unixMs(): number }
type Counted = { readonly count: number; readonly untilMs: number }

/** Counts by key; each ends a while after its first entry. */
class Counts {
  readonly #clock: TimeSource
  readonly #windowMs: number
  readonly #counts = new BoundedMap<string, Counted>(REMEMBERED_MAX)

  constructor(clock: TimeSource, windowMs: number) {
    this.#clock = clock
    this.#windowMs = windowMs
  }

  of(key: string): number {
    return this.#current(key).count
  }

  add(key: string, more: 1 | -1): void {
    const { count, untilMs } = this.#current(key)
    this.#counts.set(key, { count: Math.max(0, count + more), untilMs })
  }

  #current(key: string): Counted {
    const nowMs = this.#clock.unixMs()
    const known = this.#counts.get(key)
    const isCurrent = known !== undefined && known.untilMs > nowMs
    return isCurrent ? known : { count: 0, untilMs: nowMs + this.#windowMs }
  }
}

type Attempt = { readonly name: string; readonly address: string }

const keysOf = ({ name, address }: Attempt): readonly (readonly [string, number])[] => [
  [`pair ${address} ${name}`, FAILURES_MAX.pair],
  [`address ${address}`, FAILURES_MAX.address],
  [`name ${name}`, FAILURES_MAX.name],
]

export class SignInLimits {
  readonly #failures: Counts

  constructor(clock: TimeSource) {
    this.#failures = new Counts(clock, SIGN_IN_WINDOW_MS)
  }

  allows(attempt: Attempt): boolean {
    return keysOf(attempt).every(([key, max]) => this.#failures.of(key) < max)
  }

  failed(attempt: Attempt): void {
    for (const [key] of keysOf(attempt)) this.#failures.add(key, 1)
  }

  /** It did not fail after all. */
  forgive(attempt: Attempt): void {
    for (const [key] of keysOf(attempt)) this.#failures.add(key, -1)
  }
}

/** Whether a program at an address may register; calls count. */
export function createRegistrationLimit(clock: TimeSource): (address: string) => boolean {
  const registrations = new Counts(clock, REGISTRATION_WINDOW_MS)
  return (address) => {
    registrations.add(address, 1)
    return registrations.of(address) <= REGISTRATIONS_MAX
  }
}
