/** A date, or a date and time that says its zone: a time without one would mean another moment on every machine. */
const ISO_TIME =
  /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(?:Z|([+-])(\d{2}):(\d{2})))?$/

const MS_PER_MINUTE = 60_000
const MINUTES_PER_DAY = 1_440
const DAYS_BEFORE_1970 = 719_468
const DAYS_PER_ERA = 146_097

function daysInMonth(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  if (month === 2) return isLeap ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

/** Days from 1970-01-01 of the proleptic Gregorian calendar, counted from March so that leap days come last. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year
  const era = Math.floor(shifted / 400)
  const yearOfEra = shifted - era * 400
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  const dayOfEra =
    yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * DAYS_PER_ERA + dayOfEra - DAYS_BEFORE_1970
}

/**
 * Unix milliseconds of an ISO 8601 date (midnight UTC) or date and time with `Z` or an offset; undefined for any other
 * text, dates that no calendar has among them. Whatever it reads, ECMAScript's `Date.parse` reads alike.
 */
export function isoTimeMs(text: string): number | undefined {
  const match = ISO_TIME.exec(text)
  if (match === null) return undefined
  const part = (index: number): number => Number(match[index] ?? 0)
  const [year, month, day] = [part(1), part(2), part(3)]
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined
  const [hour, minute, second] = [part(4), part(5), part(6)]
  const [offsetHour, offsetMinute] = [part(9), part(10)]
  if (hour > 23 || minute > 59 || second > 59) return undefined
  if (offsetHour > 23 || offsetMinute > 59) return undefined
  const offsetMinutes = (match[8] === '-' ? -1 : 1) * (offsetHour * 60 + offsetMinute)
  const minutes =
    daysSinceEpoch(year, month, day) * MINUTES_PER_DAY + hour * 60 + minute - offsetMinutes
  // ECMAScript keeps whole milliseconds and drops the rest.
  const milliseconds = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3))
  return minutes * MS_PER_MINUTE + second * 1_000 + milliseconds
}
