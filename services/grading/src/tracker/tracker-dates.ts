/**
 * Dates as trackers write them, and the two times of a row: the start and when the bet was placed. `03/04/2024` is a day of
 * March or of April: the other dates of the file decide, and if they do not, the reader is asked.
 */

import { DAY_SECONDS, isoSeconds } from '@tallystick/service-kit/clock'
import { withoutAccents } from '../domain/markets/team-names.ts'
import type { WireSingle } from '../wire/requests.ts'
import { problem, question, type TrackerProblem } from './tracker-problem.ts'

export type DayOrder = 'day_first' | 'month_first'

type ReadDate =
  | {
      readonly kind: 'date'
      /** `2024-04-23`. */
      readonly day: string
      /** The clock beside the day, `2024-04-23T20:00:00`, if the text has one without a zone. */
      readonly clock?: string | undefined
      /** The moment in ISO 8601, if the text has a time and a zone. */
      readonly moment?: string | undefined
    }
  | { readonly kind: 'unclear' }
  | { readonly kind: 'unreadable' }

const UNREADABLE: ReadDate = { kind: 'unreadable' }

/** How each month's name begins, without accents, in the languages of the markets' names. */
const MONTHS = [
  /^(?:jan|ene|gen)/,
  /^(?:feb|fev)/,
  /^mar/,
  /^(?:apr|abr|avr)/,
  /^(?:may|mai|mag)/,
  /^(?:jun|juin|giu)/,
  /^(?:jul|juil|lug)/,
  /^(?:aug|ago|aou)/,
  /^(?:sep|set)/,
  /^(?:oct|okt|ott)/,
  /^nov/,
  /^(?:dec|dez|dic)/,
]

/** `Sat, `, `mar. `. */
const WEEKDAY = String.raw`^(?:\p{L}{2,10}\.?,?\s+)?`
const CLOCK_BEHIND = String.raw`(?:,?\s+(?<rest>.*))?$`

/** Forms in which day and month cannot be mistaken; a month may be a name. */
const CLEAR = [
  /^(?<year>\d{4})[-/.](?<month>\d{1,2})[-/.](?<day>\d{1,2})(?:[T\s]+(?<rest>.*))?$/,
  /^(?<year>20\d{2})(?<month>\d{2})(?<day>\d{2})$/,
  // `23-Apr-24`, `23rd of April 2024`, `23. April 2024`, `23 de abril de 2024`.
  new RegExp(
    String.raw`${WEEKDAY}(?<day>\d{1,2})(?:st|nd|rd|th|er|\.)?[-\s]+(?:(?:of|de)\s+)?(?<month>\p{L}{3,10})[-\s,.]+(?:del?\s+)?(?<year>\d{4}|\d{2})${CLOCK_BEHIND}`,
    'iu',
  ),
  new RegExp(
    String.raw`${WEEKDAY}(?<month>\p{L}{3,10})\.?\s+(?<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?<year>\d{4})${CLOCK_BEHIND}`,
    'iu',
  ),
]
const NUMBERS = /^(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?:,?\s+(.*))?$/
/** Any other zone's name, such as `BST`, may be one of several: the clock is read as without a zone. */
const CLOCK =
  /^(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*([ap]m)?\s*(?:(Z|UTC|GMT|[+-]\d{2}:?\d{2})|[A-Z]{2,5})?$/i

const two = (text: string | number): string => String(text).padStart(2, '0')

function monthNamed(name: string): number {
  const plain = withoutAccents(name)
  return MONTHS.findIndex((month) => month.test(plain)) + 1
}

/** A zone in ISO 8601; UTC if there is none. */
const isoZone = (text = 'Z'): string =>
  /^[+-]/.test(text) ? text.replace(/^(...)(?=\d)/, '$1:') : 'Z'

function dated(
  parts: readonly [year: string, month: string | number, day: string | number],
  rest: string | undefined,
): ReadDate {
  const [year, month, day] = parts
  // Two digits are a year of this century.
  const text = `${year.length === 2 ? '20' : ''}${year}-${two(month)}-${two(day)}`
  if (isoSeconds(text) === undefined) return UNREADABLE
  const [, hour, minute, second = '00', half, zone] = CLOCK.exec(rest?.trim() ?? '') ?? []
  const noon = half?.toLowerCase() === 'pm' ? 12 : 0
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + noon
  const time = `${text}T${two(hours)}:${minute}:${second}`
  const moment = `${time}${isoZone(zone)}`
  if (hour === undefined || isoSeconds(moment) === undefined) return { kind: 'date', day: text }
  return { kind: 'date', day: text, ...(zone === undefined ? { clock: time } : { moment }) }
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
  const known = separator === '.' ? 'day_first' : (dayOrder([trimmed]) ?? order)
  if (known === undefined)
    return Number(first) === Number(second)
      ? dated([year, first, second], rest)
      : { kind: 'unclear' }
  return dated(known === 'day_first' ? [year, second, first] : [year, first, second], rest)
}

/** Which of day and month comes first in a file's dates, if one of them can only be a day. */
export function dayOrder(dates: readonly string[]): DayOrder | undefined {
  for (const date of dates) {
    const numbers = NUMBERS.exec(date.trim())
    if (Number(numbers?.[1]) > MONTHS.length) return 'day_first'
    if (Number(numbers?.[3]) > MONTHS.length) return 'month_first'
  }
  return undefined
}

type Times = (field: 'date' | 'placed') => string

/** The times of a pick by its row; a problem if one is unclear. */
export function readTimes(
  cell: Times,
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
  const bet = placed?.kind === 'date' ? placed : undefined
  // Beside a start with a clock of its own a bet's clock was compared on that (isPlacedAfterStart).
  const placedAt = bet?.moment ?? (event?.clock === undefined ? bet?.clock : undefined)
  if (event === undefined) return { placed_at: placedAt ?? bet?.day }
  const startsAt = event.moment ?? event.clock
  // A bet of a day without a zone is taken from the day's beginning, so that it is not late by it.
  return startsAt === undefined
    ? { date: event.day, placed_at: placedAt }
    : { starts_at: startsAt, placed_at: placedAt }
}

/** Clocks run from 14 hours ahead of UTC to 12 behind it: a time without a zone beside one that has it may be any of these. */
const AHEAD_SECONDS = 14 * 3_600
const BEHIND_SECONDS = 12 * 3_600

/** The first and the last second that a text may mean; on the clock of its row if it has no zone. */
function spanIn(text: string, order: DayOrder | undefined) {
  const read = readDate(text, order)
  if (read.kind !== 'date') return undefined
  const time = read.moment ?? read.clock
  const from = isoSeconds(read.moment ?? `${read.clock ?? `${read.day}T00:00:00`}Z`) ?? 0
  const to = time === undefined ? from + DAY_SECONDS - 1 : from
  return { from, to, isZoned: read.moment !== undefined }
}

/**
 * Whether a row's own two times say that its bet came after the start, whatever the ledger knows of the match. They share a
 * clock if neither has a zone; only what is after the start on every clock is late.
 */
export function isPlacedAfterStart(cell: Times, order: DayOrder | undefined): boolean {
  const [start, placed] = [spanIn(cell('date'), order), spanIn(cell('placed'), order)]
  if (start === undefined || placed === undefined) return false
  const from = placed.isZoned || !start.isZoned ? placed.from : placed.from - AHEAD_SECONDS
  const to = start.isZoned || !placed.isZoned ? start.to : start.to + BEHIND_SECONDS
  return from > to
}
