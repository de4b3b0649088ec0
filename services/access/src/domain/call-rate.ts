/** How often one caller may call: what keeps a single agent or address from taking the service from the others (A17). */
import { BoundedMap, type Clock } from '@tallystick/service-kit'

/** Calls saved up while none came, in seconds of the rate: at the defaults a whole local quota may come at once. */
const BURST_SECONDS = 4

/** Callers remembered; about 100 bytes each. One that is let go of starts anew, with a whole burst. */
const CALLERS_MAX = 50_000

export type CallRate = ReturnType<typeof createCallRate>

/** A limit of so many calls per second and caller; 0 is no limit. */
export function createCallRate({
  clock,
  perSecond,
}: {
  readonly clock: Clock
  readonly perSecond: number
}) {
  const spacingMs = 1000 / perSecond
  const burstMs = 1000 * BURST_SECONDS - spacingMs
  /** When each caller's calls so far are paid off at the rate, Unix milliseconds. */
  const evenAtMs = new BoundedMap<string, number>(CALLERS_MAX)
  return {
    /** Counts a call, and returns undefined; over the limit it counts nothing and returns the seconds to wait. */
    secondsToWait(caller: string): number | undefined {
      if (perSecond === 0) return undefined
      const nowMs = clock.unixMs()
      const fromMs = Math.max(nowMs, evenAtMs.get(caller) ?? 0)
      const overMs = fromMs - nowMs - burstMs
      if (overMs > 0) return Math.max(1, Math.ceil(overMs / 1000))
      evenAtMs.set(caller, fromMs + spacingMs)
      return undefined
    },
  }
}

/** What counts as one address: an IPv4 address, or the /64 of an IPv6 address, which one customer has whole. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  if (!plain.includes(':')) return plain
  const [head = '', tail] = plain.split('::', 2)
  const before = head.split(':').filter(Boolean)
  const after = (tail ?? '').split(':').filter(Boolean)
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length)
  const groups = [...before, ...Array.from({ length: zeros }, () => '0'), ...after]
  return groups.slice(0, 4).join(':')
}
