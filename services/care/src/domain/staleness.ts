/** How old a record is, and how its age is written and spoken (C10, C13). Pure: the browser runs this file too. */
import { parseIsoTime } from '@tallystick/service-kit/iso-time'
import { lineText } from '../wire/text-of-others.ts'
import type { CareRecord } from './care-record.ts'

/** What an age is computed from. */
export type Aged = Pick<CareRecord, 'authorLabel' | 'writtenAt' | 'staleAfter'>

const DAY_MS = 86_400_000

/** Whole days since the record was written; never negative, even if the clock has jumped back. */
export function ageDays({ writtenAt }: Pick<Aged, 'writtenAt'>, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - (parseIsoTime(writtenAt) ?? nowMs)) / DAY_MS))
}

/** Whether the clock has passed the review date, if there is one. */
export function isStale({ staleAfter }: Pick<Aged, 'staleAfter'>, nowMs: number): boolean {
  return staleAfter !== undefined && nowMs > (parseIsoTime(staleAfter) ?? nowMs)
}

/** The line that states a record's age (care.md, Staleness text shapes). */
export function ageLine(record: Aged, nowMs: number): string {
  const days = ageDays(record, nowMs)
  const label = lineText(record.authorLabel)
  return isStale(record, nowMs)
    ? `[STALE — last changed ${days} days ago by ${label}; say this age aloud]`
    : `[changed ${days}d ago by ${label}]`
}

/** In words for a person. */
const daysAgo = (days: number): string => {
  if (days === 0) return 'today'
  return days === 1 ? 'one day ago' : `${days} days ago`
}

/** The line that a read gives an assistant, in words for a person; any other line as it is. */
export function ageWords(line: string): string {
  const fresh = /^\[changed (\d+)d ago by (.*)\]$/su.exec(line)
  if (fresh !== null) return `Changed ${daysAgo(Number(fresh[1]))} by ${fresh[2]}.`
  const stale = /^\[STALE — last changed (\d+) days ago by (.*); say this age aloud\]$/su.exec(line)
  return stale === null
    ? line
    : `Past its review date: last changed ${daysAgo(Number(stale[1]))} by ${stale[2]}.`
}

/** The sentence about a record's age that is spoken past its review date; undefined before. */
export const spokenAge = (record: Aged, nowMs: number): string | undefined =>
  isStale(record, nowMs)
    ? `Please note: this was last changed ${daysAgo(ageDays(record, nowMs))}, by ${lineText(record.authorLabel)}.`
    : undefined
