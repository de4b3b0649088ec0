import { ageDays, isStale, type RecordAge } from './staleness.ts'

const daysAgo = (days: number): string => {
  if (days === 0) return 'today'
  return days === 1 ? 'one day ago' : `${days} days ago`
}

/** What is said aloud for a record: its value and, past its review date, its age in a sentence (C13). */
export function spokenText(value: string, age: RecordAge): string {
  if (!isStale(age)) return value
  return `${value}\nPlease note: this was last changed ${daysAgo(ageDays(age))}, by ${age.authorLabel}.`
}
