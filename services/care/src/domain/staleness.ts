/** How old a record is, and how its age is written and spoken (C10, C13, C37). Pure: the browser runs this file too. */
import { DAY_MS, parseIsoTime } from '@tallystick/service-kit/clock'
import { lineText } from '../wire/text-of-others.ts'
import { say, textsIn } from '../wire/texts.ts'
import type { CareRecord } from './care-record.ts'

/** What an age is computed from. */
export type Aged = Pick<CareRecord, 'authorLabel' | 'writtenAt' | 'staleAfter' | 'language'>

/** Whole days since the record was written; never negative, even if the clock has jumped back. */
export function ageDays({ writtenAt }: Pick<Aged, 'writtenAt'>, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - (parseIsoTime(writtenAt) ?? nowMs)) / DAY_MS))
}

/** Whether the clock has passed the review date, if there is one. */
export function isStale({ staleAfter }: Pick<Aged, 'staleAfter'>, nowMs: number): boolean {
  return staleAfter !== undefined && nowMs > (parseIsoTime(staleAfter) ?? nowMs)
}

/** A service has one time zone. */
const calendars = new Map<string, Intl.DateTimeFormat>()

/** All offsets of time zones are whole quarters of an hour today: within one the day is the same. */
const QUARTER_MS = 900_000
/** Days that are known, by zone and quarter: a read asks for those of its record and of now. */
const DAYS_MAX = 4_096
const days = new Map<string, number>()

/** The day on a calendar at a moment, counted from 1970-01-01. */
function calendarDay(unixMs: number, timeZone: string): number {
  if (timeZone === 'UTC') return Math.floor(unixMs / DAY_MS)
  const quarter = `${timeZone} ${Math.floor(unixMs / QUARTER_MS)}`
  const known = days.get(quarter)
  if (known !== undefined) return known
  if (days.size >= DAYS_MAX) days.clear()
  // Swedish dates are ISO 8601's.
  const calendar = calendars.get(timeZone) ?? new Intl.DateTimeFormat('sv', { timeZone })
  calendars.set(timeZone, calendar)
  const day = Math.round((parseIsoTime(calendar.format(unixMs)) ?? unixMs) / DAY_MS)
  days.set(quarter, day)
  return day
}

/** When that was, as a person says it: by days of the calendar where they live, not by 24 hours. */
function whenWords({ language, writtenAt }: Aged, nowMs: number, timeZone: string): string {
  const writtenMs = Math.min(nowMs, parseIsoTime(writtenAt) ?? nowMs)
  const daysAgo = calendarDay(nowMs, timeZone) - calendarDay(writtenMs, timeZone)
  return daysAgoWords(textsIn(language).language, daysAgo)
}

/** "5 days ago" by language and number, for as many as records commonly have. */
const words = new Map<string, string>()

function daysAgoWords(language: string, daysAgo: number): string {
  const name = `${language} ${daysAgo}`
  const known = words.get(name)
  if (known !== undefined) return known
  if (words.size >= DAYS_MAX) words.clear()
  const said = new Intl.RelativeTimeFormat(language, { numeric: 'auto' })
    .formatToParts(-daysAgo, 'day')
    // A separator of thousands would be read as a decimal.
    .map(({ type, value }) => (type === 'group' ? '' : value))
    .join('')
  words.set(name, said)
  return said
}

/**
 * The line that states a record's age to an assistant (care.md, Staleness text shapes): in English with its count of days, in other
 * languages as a person says it.
 */
export function ageLine(record: Aged, nowMs: number, timeZone = 'UTC'): string {
  return say(textsIn(record.language), isStale(record, nowMs) ? 'ageStale' : 'ageFresh', {
    days: ageDays(record, nowMs),
    // English has no place for it, and a read should not wait for a calendar.
    get when() {
      return whenWords(record, nowMs, timeZone)
    },
    author: lineText(record.authorLabel),
  })
}

/** A record's age in words for a person. */
export function ageWords(record: Aged, nowMs: number, timeZone = 'UTC'): string {
  return say(textsIn(record.language), isStale(record, nowMs) ? 'wordsStale' : 'wordsFresh', {
    when: whenWords(record, nowMs, timeZone),
    author: lineText(record.authorLabel),
  })
}

/** The sentence about a record's age that is spoken past its review date; undefined before. */
export const spokenAge = (record: Aged, nowMs: number, timeZone = 'UTC'): string | undefined =>
  isStale(record, nowMs)
    ? say(textsIn(record.language), 'spokenStale', {
        when: whenWords(record, nowMs, timeZone),
        author: lineText(record.authorLabel),
      })
    : undefined
