/** How often one caller may call, so that no single agent or address crowds out the others (A17). */
import { BoundedMap, type Clock } from '@tallystick/service-kit'

/** Calls that an idle caller saves up, in seconds of the rate: at the defaults a whole local quota may come at once. */
const BURST_SECONDS = 4

/** Callers remembered, about 100 bytes each. A forgotten one starts again with a whole burst. */
const CALLERS_MAX = 50_000

export type CallRate = ReturnType<typeof createCallRate>

/** Limits each caller to `perSecond` calls; 0 is no limit. */
export function createCallRate({
  clock,
  perSecond,
}: {
  readonly clock: Clock
  readonly perSecond: number
}) {
  const spacingMs = 1000 / perSecond
  // Whoever was idle is served one call, however low the rate.
  const burstMs = Math.max(0, 1000 * BURST_SECONDS - spacingMs)
  /** When each caller is back within the rate, Unix milliseconds. */
  const evenAtMs = new BoundedMap<string, number>(CALLERS_MAX)
  return {
    /** Counts a call and returns undefined; over the limit it counts nothing and returns the seconds to wait. */
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
