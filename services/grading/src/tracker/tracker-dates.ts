/**
 * Dates as trackers write them. `03/04/2024` is a day of March or of April: the other dates of the file decide, and if
 * they do not, the reader is asked.
 */
import type { WireSingle } from '../wire/requests.ts'
import { isoSeconds } from '../wire/times.ts'
import { problem, question, type TrackerProblem } from './tracker-problem.ts'

export type DayOrder = 'day_first' | 'month_first'

type ReadDate =
  | {
      readonly kind: 'date'
      /** `2024-04-23`. */
      readonly day: string
      /** The clock beside the day, `2024-04-23T20:00:00`, if the text has one without a zone. */
      readonly clock?: string
      /** The moment in ISO 8601, if the text has a time and a zone. */
      readonly moment?: string
    }
  | { readonly kind: 'unclear' }
  | { readonly kind: 'unreadable' }

const UNREADABLE: ReadDate = { kind: 'unreadable' }

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** Forms in which day and month cannot be mistaken; a month may be a name. */
const CLEAR = [
  /^(?<year>\d{4})[-/.](?<month>\d{1,2})[-/.](?<day>\d{1,2})(?:[T\s]+(?<rest>.*))?$/,
  /^(?:[a-z]{3,9},?\s+)?(?<day>\d{1,2})[-\s](?:of\s+)?(?<month>[a-z]{3,9})[-\s,.]+(?<year>\d{4}|\d{2})(?:,?\s+(?<rest>.*))?$/i,
  /^(?:[a-z]{3,9},?\s+)?(?<month>[a-z]{3,9})\.?\s+(?<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?<year>\d{4})(?:,?\s+(?<rest>.*))?$/i,
]
const NUMBERS = /^(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?:,?\s+(.*))?$/
const CLOCK =
  /^(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*([ap]m)?\s*(Z|UTC|GMT|[+-]\d{2}:?\d{2})?$/i

const two = (text: string | number): string => String(text).padStart(2, '0')

/** Two digits are a year of this century. */
const yearOf = (text: string): string => (text.length === 2 ? `20${text}` : text)

const monthNamed = (name: string): number =>
  MONTHS.indexOf(name.slice(0, 3).toLowerCase().replace('mai', 'may').replace('okt', 'oct')) + 1

/** The zone in ISO 8601. */
function zoneOf(text: string): string {
  if (/^[+-]/.test(text)) return text.includes(':') ? text : `${text.slice(0, 3)}:${text.slice(3)}`
  return 'Z'
}

function dated(
  parts: readonly [year: string, month: string | number, day: string | number],
  rest: string | undefined,
): ReadDate {
  const [year, month, day] = parts
  const text = `${yearOf(year)}-${two(month)}-${two(day)}`
  if (isoSeconds(text) === undefined) return UNREADABLE
  const clock = CLOCK.exec(rest?.trim() ?? '')
  if (clock === null) return { kind: 'date', day: text }
  const [, hour = '', minute = '', second = '00', half, zone] = clock
  const noon = half === undefined ? 0 : half.toLowerCase() === 'pm' ? 12 : 0
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + noon
  const time = `${text}T${two(hours)}:${minute}:${second}`
  if (zone === undefined)
    return isoSeconds(`${time}Z`) === undefined
      ? { kind: 'date', day: text }
      : { kind: 'date', day: text, clock: time }
  const moment = `${time}${zoneOf(zone)}`
  return isoSeconds(moment) === undefined
    ? { kind: 'date', day: text }
    : { kind: 'date', day: text, moment }
}

/** Reads a date; `order` decides about `03/04/2024`. */
export function readDate(text: string, order: DayOrder | undefined): ReadDate {
  const trimmed = text.trim()
  for (const form of CLEAR) {
    const found = form.exec(trimmed)?.groups
    if (found === undefined) continue
    const { year = '', month = '', day = '', rest } = found
    return dated([year, /^\d/.test(month) ? month : monthNamed(month), day], rest)
  }
  const numbers = NUMBERS.exec(trimmed)
  if (numbers === null) return UNREADABLE
  const [, first = '', separator, second = '', year = '', rest] = numbers
  // Dates with points put the day first.
  const known = separator === '.' ? 'day_first' : (orderOf([trimmed]) ?? order)
  if (known === undefined)
    return Number(first) === Number(second)
      ? dated([year, first, second], rest)
      : { kind: 'unclear' }
  return dated(known === 'day_first' ? [year, second, first] : [year, first, second], rest)
}

/** Which of day and month comes first in a file's dates, if one of them can only be a day. */
export function orderOf(dates: readonly string[]): DayOrder | undefined {
  for (const date of dates) {
    const numbers = NUMBERS.exec(date.trim())
    if (Number(numbers?.[1]) > MONTHS.length) return 'day_first'
    if (Number(numbers?.[3]) > MONTHS.length) return 'month_first'
  }
  return undefined
}

/** Date and time of the pick's members; a problem if a date is unclear. */
export function whenOf(
  cell: (field: 'date' | 'placed') => string,
  order: DayOrder | undefined,
): Pick<WireSingle, 'date' | 'starts_at' | 'placed_at'> | TrackerProblem {
  const read = (text: string) => (text === '' ? undefined : readDate(text, order))
  const [event, written] = [read(cell('date')), read(cell('placed'))]
  // A clock alone may be one of the match's day.
  const isClockAlone = event?.kind === 'date' && written?.kind === 'unreadable'
  const placed = isClockAlone ? read(`${event.day} ${cell('placed')}`) : written
  if (event?.kind === 'unclear' || (event === undefined && placed?.kind === 'unclear'))
    return question(
      'date',
      'a day that is clear: 2024-04-23, or say whether the day or the month comes first',
      [
        { label: 'the day comes first', set: { date_order: 'day_first' } },
        { label: 'the month comes first', set: { date_order: 'month_first' } },
      ],
    )
  if (event?.kind === 'unreadable') return problem('date', 'a date such as 2024-04-23')
  // A bet of a day without a zone is taken from the day's beginning, so that it is not late by it.
  // Beside a start with a clock of its own it was compared on that (placed-after-start.ts).
  const clock = event?.kind === 'date' && event.clock !== undefined ? undefined : placed
  const placedAt =
    placed?.kind === 'date'
      ? (placed.moment ?? (clock?.kind === 'date' ? clock.clock : undefined) ?? placed.day)
      : undefined
  const isDayOnly = placed?.kind === 'date' && placedAt === placed.day
  if (event?.kind !== 'date') return placedAt === undefined ? {} : { placed_at: placedAt }
  const bet = placedAt === undefined || isDayOnly ? {} : { placed_at: placedAt }
  const start = event.moment ?? event.clock
  return start === undefined ? { date: event.day, ...bet } : { starts_at: start, ...bet }
}
