import type { EventInfo } from '../domain/event-state.ts'
import { civilDay, dayStartSeconds } from '../domain/iso-time.ts'
import { eventSlug } from './event-slug.ts'
import type { FootballColumns } from './football-columns.ts'

const ISO_DAY = /^(\d{4})-(\d{2})-(\d{2})$/
const BRITISH_DAY = /^(\d{2})\/(\d{2})\/(\d{2}|\d{4})$/
const CLOCK_TIME = /^(\d{2}):(\d{2})$/

/** Two-digit years below this are of this century. */
const CENTURY_TURNS = 70

function daySeconds(text: string): number | undefined {
  const iso = ISO_DAY.exec(text)
  if (iso !== null)
    return dayStartSeconds({ year: Number(iso[1]), month: Number(iso[2]), day: Number(iso[3]) })
  const british = BRITISH_DAY.exec(text)
  if (british === null) return undefined
  const short = Number(british[3])
  const year = short > 99 ? short : short + (short < CENTURY_TURNS ? 2000 : 1900)
  return dayStartSeconds({ year, month: Number(british[2]), day: Number(british[1]) })
}

/** Days of March and of October, in both of which London's clock changes on the last Sunday. */
const DAYS_IN_MONTH = 31

/** By London's clock: forward at one in March, and back at two in October, of which the hour before comes twice. */
const FORWARD_AT_SECONDS = 3_600
const BACK_AT_SECONDS = 7_200

/** The site gives the time of London's clock, an hour ahead of UTC from the last Sunday of March to that of October. */
function londonOffsetSeconds(day: {
  readonly month: number
  readonly date: number
  /** 0 is Sunday. */
  readonly weekday: number
  /** Since midnight, by that clock; in the hour that comes twice the first is meant. */
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

function startOf(day: number, time: string): Pick<EventInfo, 'startAtSeconds' | 'startPrecision'> {
  const clock = CLOCK_TIME.exec(time)
  if (clock === null) return { startAtSeconds: day, startPrecision: 'day' }
  const { month, day: date } = civilDay(day)
  const weekday = (Math.floor(day / SECONDS_PER_DAY) + FIRST_WEEKDAY) % 7
  const seconds = Number(clock[1]) * 3_600 + Number(clock[2]) * 60
  return {
    startAtSeconds: day + seconds - londonOffsetSeconds({ month, date, weekday, seconds }),
    startPrecision: 'second',
  }
}

/** The event of a row; undefined without a date or a team. Only the day is known where the file has no times. */
export function footballEvent(
  row: readonly string[],
  columns: FootballColumns,
): EventInfo | undefined {
  const cell = (column: number): string => row[column]?.trim() ?? ''
  const [date, home, away] = [cell(columns.date), cell(columns.home), cell(columns.away)]
  const day = daySeconds(date)
  if (day === undefined || home === '' || away === '') return undefined
  const league = [cell(columns.league), cell(columns.division)]
    .filter((part) => part !== '')
    .join(' ')
  const id = eventSlug({ league, daySeconds: day, home, away })
  return {
    path: `soccer/${id}`,
    sport: 'soccer',
    league,
    home,
    away,
    ...startOf(day, cell(columns.time)),
  }
}
