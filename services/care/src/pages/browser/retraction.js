/**
 * A value in quotation marks at the end of a sentence, which it may have ended by itself.
 *
 * @param {string} value
 */
const quotedAtEnd = (value) => {
  const text = value.trim()
  return /[.!?…]$/.test(text) ? `“${text}”` : `“${text}”.`
}

/**
 * The sentence with which assistants take a version back, in the service's words (src/domain/retraction.ts, which a test
 * holds this against); undefined where the value does not change.
 *
 * @param {{ previousValue: string, value: string, authorLabel: string }} correction
 */
export function retractionSentence({ previousValue, value, authorLabel }) {
  if (previousValue === value) return undefined
  return `Correction from ${authorLabel}. Please disregard ${quotedAtEnd(previousValue)} It is now ${quotedAtEnd(value)}`
}
