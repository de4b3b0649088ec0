/** Time: as a dependency, and as ISO 8601 texts. No Node is needed: browsers run this file, too. */

/** Time as a dependency: only `systemClock` touches the runtime's timers. */
export type Clock = {
  /** Unix time in milliseconds. */
  unixMs(): number
  /** Runs `run` once after `ms` milliseconds; the returned function cancels it. */
  after(ms: number, run: () => void): () => void
}

/** The runtime's own clock. A timer of 0 ms or less runs in the next iteration of the event loop; timers keep the process alive. */
export const systemClock: Clock = {
  unixMs: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}

/** A minute, milliseconds. */
export const MINUTE_MS = 60_000
/** An hour, milliseconds. */
export const HOUR_MS = 60 * MINUTE_MS
/** A day of UTC, milliseconds. */
export const DAY_MS = 24 * HOUR_MS
/** The same, seconds. */
export const DAY_SECONDS = DAY_MS / 1_000

/** Resolves after `ms` milliseconds, or as soon as `signal` aborts; it never rejects and leaves no timer behind. */
export function pause(
  clock: Pick<Clock, 'after'>,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve()
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', end)
      resolve()
    })
    const end = (): void => {
      cancel()
      resolve()
    }
    signal?.addEventListener('abort', end, { once: true })
  })
}

/** What `work` resolves with; undefined if it takes longer than `ms` milliseconds: then its end is nobody's. Rejects as it does. */
export async function atMost<Value>(
  clock: Pick<Clock, 'after'>,
  ms: number,
  work: Promise<Value>,
): Promise<Value | undefined> {
  const done = new AbortController()
  try {
    return await Promise.race([work, pause(clock, ms, done.signal).then(() => undefined)])
  } finally {
    done.abort()
  }
}

/** A date, or a date and time with its zone: without a zone, the same text would mean a different moment on every machine. */
const ISO_TIME =
  /^(\d{4}-\d{2}-\d{2})(?:T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/

/**
 * Unix milliseconds of an ISO 8601 date (midnight UTC) or date and time with `Z` or an offset; undefined for any other
 * text, including dates that do not exist. Digits beyond the millisecond are dropped.
 *
 * @example parseIsoTime('2026-11-21T12:00:00.5+05:30') // 1795242600500
 */
export function parseIsoTime(text: string): number | undefined {
  const day = ISO_TIME.exec(text)?.[1]
  if (day === undefined) return undefined
  const midnight = new Date(day)
  // Engines differ on 30 February: some refuse it, others read it as a day in March.
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day)) return undefined
  return Date.parse(text)
}

/** Unix seconds, rounded down, of a date (midnight UTC) or of a date and time with `Z` or an offset; undefined for anything else. */
export function isoSeconds(text: string): number | undefined {
  const unixMs = parseIsoTime(text)
  return unixMs === undefined ? undefined : Math.floor(unixMs / 1_000)
}

/** A moment to the second, UTC: `2024-04-23T19:00:00Z`. */
export const isoText = (unixSeconds: number): string =>
  `${new Date(Math.floor(unixSeconds) * 1_000).toISOString().slice(0, 19)}Z`

/** The UTC day of a moment: `2024-04-23`. */
export const isoDay = (unixSeconds: number): string => isoText(unixSeconds).slice(0, 10)

/** This moment, UTC, to the millisecond: `2024-04-23T19:00:00.000Z`. */
export const isoNow = (clock: Pick<Clock, 'unixMs'>): string =>
  new Date(clock.unixMs()).toISOString()
