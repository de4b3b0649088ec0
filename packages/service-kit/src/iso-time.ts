/** A date, or a date and time with its zone: without a zone, the same text would mean a different moment on every machine. */
const ISO_TIME =
  /^(\d{4}-\d{2}-\d{2})(?:T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/

/**
 * Unix milliseconds of an ISO 8601 date (midnight UTC) or date and time with `Z` or an offset; undefined for any other
 * text, including dates that do not exist. Digits beyond the millisecond are dropped. Pure, since browsers import it too.
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
