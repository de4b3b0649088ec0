/** How old a record is, and how its age is written and spoken (C10, C13, C37). Pure: the browser runs this file too. */
import { parseIsoTime } from '@tallystick/service-kit/clock'
import { lineText } from '../wire/text-of-others.ts'
import { say, textsIn } from '../wire/texts.ts'
import type { CareRecord } from './care-record.ts'

/** What an age is computed from. */
export type Aged = Pick<CareRecord, 'authorLabel' | 'writtenAt' | 'staleAfter' | 'language'>

const DAY_MS = 86_400_000

/** Whole days since the record was written; never negative, even if the clock has jumped back. */
export function ageDays({ writtenAt }: Pick<Aged, 'writtenAt'>, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - (parseIsoTime(writtenAt) ?? nowMs)) / DAY_MS))
}

/** Whether the clock has passed the review date, if there is one. */
export function isStale({ staleAfter }: Pick<Aged, 'staleAfter'>, nowMs: number): boolean {
  return staleAfter !== undefined && nowMs > (parseIsoTime(staleAfter) ?? nowMs)
}

/** Of which no more than a few are used: time zones and languages. */
const calendars = new Map<string, Intl.DateTimeFormat>()
const relatives = new Map<string, Intl.RelativeTimeFormat>()

function made<Format>(known: Map<string, Format>, name: string, make: () => Format): Format {
  const format = known.get(name) ?? make()
  known.set(name, format)
  return format
}

/** The day on a calendar at a moment, counted from 1970-01-01. */
function calendarDay(unixMs: number, timeZone: string): number {
  // Swedish dates are ISO 8601's.
  const calendar = made(calendars, timeZone, () => new Intl.DateTimeFormat('sv', { timeZone }))
  return Math.round((parseIsoTime(calendar.format(unixMs)) ?? unixMs) / DAY_MS)
}

/** When that was, as a person says it: by days of the calendar where they live, not by 24 hours. */
function whenWords({ language, writtenAt }: Aged, nowMs: number, timeZone: string): string {
  const writtenMs = Math.min(nowMs, parseIsoTime(writtenAt) ?? nowMs)
  const days = calendarDay(nowMs, timeZone) - calendarDay(writtenMs, timeZone)
  const spoken = textsIn(language).language
  const relative = made(
    relatives,
    spoken,
    () => new Intl.RelativeTimeFormat(spoken, { numeric: 'auto' }),
  )
  // A separator of thousands would be read as a decimal.
  return relative
    .formatToParts(-days, 'day')
    .map(({ type, value }) => (type === 'group' ? '' : value))
    .join('')
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
