/**
 * The one JSON text of a value (RFC 8785), for what is signed or hashed: members sorted by UTF-16 code units, numbers and
 * strings as ECMAScript writes them, no white space. @tallystick/hashchain has its own: this package imports no
 * workspace package, so that a seller installs it alone.
 */

/** Deeper values are refused: a caller's arguments must not exhaust the stack. */
const DEPTH_MAX = 64

/**
 * The canonical text. Members that are undefined are left out. Throws RangeError for what JSON cannot hold (NaN, a lone
 * surrogate, a bigint, a function) and for more than 64 levels.
 *
 * @example
 * canonicalJson({ b: [1.0, 'é'], a: null }) // '{"a":null,"b":[1,"é"]}'
 */
export function canonicalJson(value: unknown, depth = 0): string {
  if (depth > DEPTH_MAX) throw new RangeError(`over ${DEPTH_MAX} levels of JSON`)
  if (typeof value === 'string' && !value.isWellFormed())
    throw new RangeError('a lone surrogate is no text')
  if (value === null || typeof value === 'string' || typeof value === 'boolean')
    return JSON.stringify(value)
  if (typeof value === 'number' && Number.isFinite(value)) return JSON.stringify(value)
  if (Array.isArray(value))
    return `[${value.map((one) => canonicalJson(one, depth + 1)).join(',')}]`
  if (typeof value !== 'object') throw new RangeError(`JSON holds no ${typeof value}`)
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, member]) => `${canonicalJson(name)}:${canonicalJson(member, depth + 1)}`)
  return `{${members.join(',')}}`
}
