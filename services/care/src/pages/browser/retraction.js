/** @param {string} text */
const quoted = (text) => `“${text.trim()}”`

/**
 * The sentence with which assistants take a version back, in the service's words (src/domain/retraction.ts, which a test
 * holds this against); undefined where the value does not change.
 *
 * @param {{ previousValue: string, value: string, authorLabel: string }} correction
 */
export function retractionSentence({ previousValue, value, authorLabel }) {
  if (previousValue === value) return undefined
  return `Correction from ${authorLabel}: please disregard ${quoted(previousValue)}. It is now ${quoted(value)}.`
}
