/**
 * How often strangers may try: passwords per network and name, per network and per name; registrations and sign-ins that are
 * begun, per network.
 */
import { BoundedMap } from '@tallystick/service-kit'

/** Wrong passwords are forgotten after this. */
const SIGN_IN_WINDOW_MS = 900_000
/** A person mistypes, a program guesses. */
const FAILURES_MAX = { pair: 5, network: 30, name: 100 } as const
/** Names and networks remembered; strangers choose them. */
const REMEMBERED_MAX = 20_000
/** A person tries a few programs in an hour. */
const REGISTRATIONS = { max: 20, windowMs: 3_600_000 } as const
/** A clinic of a hundred behind one address, three tries each, in a quarter of an hour. */
const BEGINNINGS = { max: 300, windowMs: 900_000 } as const

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

  find(key: string): number {
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

/** The network is undefined where proxies hide it: then only names are counted. */
type Attempt = { readonly name: string; readonly network: string | undefined }

function listKeys({ name, network }: Attempt): readonly (readonly [string, number])[] {
  const byName = [`name ${name}`, FAILURES_MAX.name] as const
  if (network === undefined) return [byName]
  return [
    [`pair ${network} ${name}`, FAILURES_MAX.pair],
    [`network ${network}`, FAILURES_MAX.network],
    byName,
  ]
}

export class SignInLimits {
  readonly #failures: Counts

  constructor(clock: TimeSource) {
    this.#failures = new Counts(clock, SIGN_IN_WINDOW_MS)
  }

  allows(attempt: Attempt): boolean {
    return listKeys(attempt).every(([key, max]) => this.#failures.find(key) < max)
  }

  failed(attempt: Attempt): void {
    for (const [key] of listKeys(attempt)) this.#failures.add(key, 1)
  }

  /** It did not fail after all. */
  forgive(attempt: Attempt): void {
    for (const [key] of listKeys(attempt)) this.#failures.add(key, -1)
  }
}

/** Whether a network may do it once more; calls count. */
export type NetworkLimit = (network: string | undefined) => boolean

function limitNetworks(
  clock: TimeSource,
  { max, windowMs }: { readonly max: number; readonly windowMs: number },
): NetworkLimit {
  const counts = new Counts(clock, windowMs)
  return (network) => {
    if (network === undefined) return true
    counts.add(network, 1)
    return counts.find(network) <= max
  }
}

/** For programs that register. */
export const createRegistrationLimit = (clock: TimeSource): NetworkLimit =>
  limitNetworks(clock, REGISTRATIONS)

/** For sign-ins that are begun. */
export const createBeginningLimit = (clock: TimeSource): NetworkLimit =>
  limitNetworks(clock, BEGINNINGS)
