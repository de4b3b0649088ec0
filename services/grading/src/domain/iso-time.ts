/** A date, or a date and time that says its zone: a time without one would mean another moment on every machine. */
const ISO_TIME =
  /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(?:Z|([+-])(\d{2}):(\d{2})))?$/

const SECONDS_PER_DAY = 86_400
const DAYS_BEFORE_1970 = 719_468
const DAYS_PER_ERA = 146_097

/** A day of the proleptic Gregorian calendar. */
export type CivilDay = { readonly year: number; readonly month: number; readonly day: number }

/** Unix seconds of a day's midnight, UTC; undefined for a day that no calendar has. */
export function dayStartSeconds({ year, month, day }: CivilDay): number | undefined {
  const shifted = month <= 2 ? year - 1 : year
  const era = Math.floor(shifted / 400)
  const yearOfEra = shifted - era * 400
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  const dayOfEra =
    yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  const seconds = (era * DAYS_PER_ERA + dayOfEra - DAYS_BEFORE_1970) * SECONDS_PER_DAY
  const back = civilDay(seconds)
  return back.year === year && back.month === month && back.day === day ? seconds : undefined
}

/** The day, UTC, that a moment (Unix seconds) lies in. */
export function civilDay(unixSeconds: number): CivilDay {
  const days = Math.floor(unixSeconds / SECONDS_PER_DAY) + DAYS_BEFORE_1970
  const era = Math.floor(days / DAYS_PER_ERA)
  const dayOfEra = days - era * DAYS_PER_ERA
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1_460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  )
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day }
}

/** Unix seconds, rounded down, of an ISO 8601 date (midnight UTC) or date and time with `Z` or an offset; else undefined. */
export function isoSeconds(text: string): number | undefined {
  const match = ISO_TIME.exec(text)
  if (match === null) return undefined
  const part = (index: number): number => Number(match[index] ?? 0)
  const start = dayStartSeconds({ year: part(1), month: part(2), day: part(3) })
  const [hour, minute, second] = [part(4), part(5), part(6)]
  const [offsetHour, offsetMinute] = [part(8), part(9)]
  if (start === undefined || hour > 23 || minute > 59 || second > 59) return undefined
  if (offsetHour > 23 || offsetMinute > 59) return undefined
  const offset = (match[7] === '-' ? -1 : 1) * (offsetHour * 60 + offsetMinute) * 60
  return start + hour * 3_600 + minute * 60 + second - offset
}

const twoDigits = (value: number): string => String(value).padStart(2, '0')

/** A moment (Unix seconds) as an ISO 8601 text to the second, UTC: `2024-04-23T19:00:00Z`. */
export function isoText(unixSeconds: number): string {
  const whole = Math.floor(unixSeconds)
  const { year, month, day } = civilDay(whole)
  const second = ((whole % SECONDS_PER_DAY) + SECONDS_PER_DAY) % SECONDS_PER_DAY
  const time = [second / 3_600, (second / 60) % 60, second % 60].map((part) =>
    twoDigits(Math.floor(part)),
  )
  return `${String(year).padStart(4, '0')}-${twoDigits(month)}-${twoDigits(day)}T${time.join(':')}Z`
}
