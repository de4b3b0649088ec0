/** Values that one label tells apart: texts from outside, such as a facilitator's reasons, cannot make more series. */
const VALUES_MAX = 64

/** Returns a label's value for a text: the text itself, or `other` once `VALUES_MAX` different ones have come before it. */
export function boundedLabel(): (text: string) => string {
  const known = new Set<string>()
  return (text) => {
    if (known.has(text)) return text
    if (known.size >= VALUES_MAX) return 'other'
    known.add(text)
    return text
  }
}
