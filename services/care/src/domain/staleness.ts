/** How old a record is, and how its age is written and spoken (C10, C13). Pure: the browser runs this file too. */

/** The data behind an age; times in Unix milliseconds. */
export type RecordAge = {
  readonly authorLabel: string
  readonly writtenAtMs: number
  /** Absent if the record has no review date. */
  readonly staleAfterMs?: number | undefined
  readonly nowMs: number
}

const DAY_MS = 86_400_000

/** Whole days since the record was written; never negative, even if the clock has jumped back. */
export function ageDays({ writtenAtMs, nowMs }: RecordAge): number {
  return Math.max(0, Math.floor((nowMs - writtenAtMs) / DAY_MS))
}

/** Whether the clock has passed the review date. */
export function isStale({ staleAfterMs, nowMs }: RecordAge): boolean {
  return staleAfterMs !== undefined && nowMs > staleAfterMs
}

/** The line that states a record's age (care.md, Staleness text shapes). */
export function ageLine(age: RecordAge): string {
  const days = ageDays(age)
  return isStale(age)
    ? `[STALE — last changed ${days} days ago by ${age.authorLabel}; say this age aloud]`
    : `[changed ${days}d ago by ${age.authorLabel}]`
}

/** In words for a person. */
export const daysAgo = (days: number): string => {
  if (days === 0) return 'today'
  return days === 1 ? 'one day ago' : `${days} days ago`
}

/** What is said aloud for a record: its value and, past its review date, a sentence about its age. */
export function spokenText(value: string, age: RecordAge): string {
  if (!isStale(age)) return value
  return `${value}\nPlease note: this was last changed ${daysAgo(ageDays(age))}, by ${age.authorLabel}.`
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
