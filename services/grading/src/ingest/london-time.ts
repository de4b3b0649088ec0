/** British files give times by London's clock. */
import { isoDay, isoSeconds } from '../wire/times.ts'

/** Days of March and of October; London's clock changes on the last Sunday of both. */
const DAYS_IN_MONTH = 31

/** By London's clock: forward at one in March, back at two in October, so the hour before two comes twice. */
const FORWARD_AT_SECONDS = 3_600
const BACK_AT_SECONDS = 7_200

/** The site gives London time: an hour ahead of UTC from the last Sunday of March to the last Sunday of October. */
function londonOffsetSeconds(day: {
  readonly month: number
  readonly date: number
  /** 0 is Sunday. */
  readonly weekday: number
  /** Since midnight, by that clock; the repeated hour is read as its first pass. */
  readonly seconds: number
}): number {
  const { month, date, weekday, seconds } = day
  const lastSunday = DAYS_IN_MONTH - ((weekday + DAYS_IN_MONTH - date) % 7)
  const isSummer =
    (month > 3 && month < 10) ||
    (month === 3 &&
      (date > lastSunday || (date === lastSunday && seconds >= FORWARD_AT_SECONDS))) ||
    (month === 10 && (date < lastSunday || (date === lastSunday && seconds < BACK_AT_SECONDS)))
  return isSummer ? 3_600 : 0
}

const SECONDS_PER_DAY = 86_400
/** 1970-01-01 was a Thursday. */
const FIRST_WEEKDAY = 4

const CLOCK_TIME = /^(\d{2}):(\d{2})$/

/** Unix seconds of a day, `2024-04-23`, and a time, `20:00`, by London's clock; undefined for anything else. */
export function londonSeconds(date: string, time: string): number | undefined {
  const clock = CLOCK_TIME.exec(time)
  const day = isoSeconds(date)
  if (clock === null || day === undefined) return undefined
  const [, month = 0, dayOfMonth = 0] = isoDay(day).split('-').map(Number)
  const weekday = (Math.floor(day / SECONDS_PER_DAY) + FIRST_WEEKDAY) % 7
  const seconds = Number(clock[1]) * 3_600 + Number(clock[2]) * 60
  return day + seconds - londonOffsetSeconds({ month, date: dayOfMonth, weekday, seconds })
}
