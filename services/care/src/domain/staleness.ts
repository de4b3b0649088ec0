/** What of a record and of the moment its age is told from; times in Unix milliseconds. */
export type RecordAge = {
  readonly authorLabel: string
  readonly writtenAtMs: number
  /** Absent where the record has no review date. */
  readonly staleAfterMs?: number | undefined
  readonly nowMs: number
}

const DAY_MS = 86_400_000

/** Whole days since the record was written; never negative, also when the clock has jumped back. */
export function ageDays({ writtenAtMs, nowMs }: RecordAge): number {
  return Math.max(0, Math.floor((nowMs - writtenAtMs) / DAY_MS))
}

/** Whether the clock has passed the review date. */
export function isStale({ staleAfterMs, nowMs }: RecordAge): boolean {
  return staleAfterMs !== undefined && nowMs > staleAfterMs
}

/** The line in which a record announces its age (care.md, Staleness text shapes). */
export function ageLine(age: RecordAge): string {
  const days = ageDays(age)
  return isStale(age)
    ? `[STALE — last changed ${days} days ago by ${age.authorLabel}; say this age aloud]`
    : `[changed ${days}d ago by ${age.authorLabel}]`
}
