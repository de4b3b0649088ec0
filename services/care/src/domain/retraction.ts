/** Two consecutive versions of a record, as a retraction names them. */
type Correction = {
  readonly previousValue: string
  readonly value: string
  /** Who wrote the new version. */
  readonly authorLabel: string
}

/** A value in quotation marks at the end of a sentence, which the value may already end by itself. */
const quotedAtEnd = (value: string): string => {
  const text = value.trim()
  return /[.!?…]$/.test(text) ? `“${text}”` : `“${text}”.`
}

/** The sentences that take back what was said and say what holds now; undefined if the value did not change (C10). */
export function retractionSentence(correction: Correction): string | undefined {
  const { previousValue, value, authorLabel } = correction
  if (previousValue === value) return undefined
  return `Correction from ${authorLabel}. Please disregard ${quotedAtEnd(previousValue)} It is now ${quotedAtEnd(value)}`
}
