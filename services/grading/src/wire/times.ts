/** Times as the wire and the feeds write them, ISO 8601, in Unix seconds. */
import { parseIsoTime } from '@tallystick/service-kit'

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
