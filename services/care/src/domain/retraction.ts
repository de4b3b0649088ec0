/** What no longer holds, and what holds instead. */
type Correction = {
  /** The value that the listener holds. */
  readonly previousValue: string
  /** Other values that may have been heard since and no longer hold either. */
  readonly withdrawn?: readonly string[]
  /** How often the value changed meanwhile. */
  readonly corrections?: number
  readonly value: string
  readonly authorLabel: string
}

/** A value in quotation marks at the end of a sentence, which the value may already end by itself. */
const quotedAtEnd = (value: string): string => {
  const text = value.trim()
  return /[.!?…]$/.test(text) ? `“${text}”` : `“${text}”.`
}

/**
 * The sentences that take back every value that no longer holds, and say what holds now; undefined if everything said still
 * holds (C10, C29).
 */
export function retractionSentence(correction: Correction): string | undefined {
  const { previousValue, withdrawn = [], corrections = 1, value, authorLabel } = correction
  const past = [...new Set([previousValue, ...withdrawn])].filter((one) => one !== value)
  const [first, ...more] = past
  if (first === undefined) return undefined
  return [
    `Correction from ${authorLabel}.`,
    `Please disregard ${quotedAtEnd(first)}`,
    ...more.map((one) => `Also disregard ${quotedAtEnd(one)}`),
    ...(corrections > 1 ? [`It was corrected ${corrections} times.`] : []),
    `It is now ${quotedAtEnd(value)}`,
  ].join(' ')
}
