/** How old a record is, and how its age is written and spoken (C10, C13). Pure: the browser runs this file too. */
import { parseIsoTime } from '@tallystick/service-kit/iso-time'
import { decodeText, lineText } from '../wire/text-of-others.ts'
import type { CareRecord } from './care-record.ts'
import { spokenForm } from './spoken-form.ts'

/** What an age is computed from. */
type Aged = Pick<CareRecord, 'authorLabel' | 'writtenAt' | 'staleAfter'>

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
export const daysAgo = (days: number): string => {
  if (days === 0) return 'today'
  return days === 1 ? 'one day ago' : `${days} days ago`
}

/** The sentence about a record's age that is spoken past its review date; undefined before. */
export const spokenAge = (record: Aged, nowMs: number): string | undefined =>
  isStale(record, nowMs)
    ? `Please note: this was last changed ${daysAgo(ageDays(record, nowMs))}, by ${lineText(record.authorLabel)}.`
    : undefined

/**
 * The spoken text of a version: of an older one first that it was replaced (C34); then its value and, past its review date, a
 * sentence about its age. Undefined if it cannot be spoken as it is seen (C45).
 */
export const spokenText = (
  record: Aged & Pick<CareRecord, 'value'>,
  of: { readonly nowMs: number; readonly superseded?: string | undefined },
): string | undefined => {
  const { nowMs, superseded = '' } = of
  const lines = [decodeText(superseded), record.value, decodeText(spokenAge(record, nowMs) ?? '')]
  return spokenForm(lines.filter((line) => line !== '').join('\n'))
}

/** The port that turns text into sound; adapters/espeak-speech.ts implements it. */
export type Speech = {
  /** A WAV file of the spoken text. Rejects with `SpeechUnavailable`. */
  speak(text: string): Promise<Uint8Array>
}

/** The speech program failed or reached its time limit, or too many texts are waiting. */
export class SpeechUnavailable extends Error {
  override readonly name = 'SpeechUnavailable'
}
