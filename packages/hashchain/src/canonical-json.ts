/** JSON can hold these. Optional members are left out, never `undefined`. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue }

/** Deeper nesting than any entry needs; it makes a cycle an error instead of a stack overflow. */
const NESTING_MAX = 64

/**
 * The one RFC 8785 (JSON Canonicalization Scheme) text of a value: no white space, object members sorted by the UTF-16
 * code units of their names, numbers and strings as ECMAScript writes them. Encode it as UTF-8.
 *
 * Throws a TypeError for what JSON cannot hold: `undefined`, functions, symbols, bigints, NaN and the infinities, lone
 * surrogates, array holes, class instances (dates, maps), and nesting deeper than 64.
 *
 * @example canonicalJson({ b: 1, a: 'x' }) // '{"a":"x","b":1}'
 */
export function canonicalJson(value: JsonValue): string {
  return write(value, 0)
}

function write(value: unknown, depth: number): string {
  if (depth > NESTING_MAX) throw new TypeError(`JSON nests deeper than ${NESTING_MAX}`)
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return writeString(value)
  if (typeof value === 'number') return writeNumber(value)
  if (typeof value !== 'object')
    throw new TypeError(`JSON cannot hold a value of type ${typeof value}`)
  if (depth < ORDER_ASKED_BELOW && isInOrder(value, depth)) {
    const text = JSON.stringify(value)
    if (!text.includes(LONE_SURROGATE)) return text
  }
  return Array.isArray(value) ? writeArray(value, depth) : writeObject(value, depth)
}

/** The order of members is checked only above this depth: checking at every depth would walk a deep value repeatedly. */
const ORDER_ASKED_BELOW = 2

/** How JSON.stringify escapes a lone surrogate. Text that spells out such an escape contains it too, and is written slowly. */
const LONE_SURROGATE = '\\ud'

/** Whether JSON.stringify, which is native, already writes a value canonically, lone surrogates aside: its members are sorted. */
function isInOrder(value: unknown, depth: number): boolean {
  if (depth > NESTING_MAX) return false
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object') return false
  const prototype: unknown = Object.getPrototypeOf(value)
  if (Array.isArray(value)) {
    if (prototype !== Array.prototype) return false
    // By index, as in writeArray.
    for (let index = 0; index < value.length; index += 1)
      if (!isInOrder(value[index], depth + 1)) return false
    return true
  }
  if (prototype !== Object.prototype && prototype !== null) return false
  const members = value as Readonly<Record<string, unknown>>
  let last = ''
  for (const name in members) {
    if (name < last || !isInOrder(members[name], depth + 1)) return false
    last = name
  }
  return true
}

function writeNumber(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError('JSON cannot hold a number that is not finite')
  return String(value)
}

/** Text that JSON need not escape; most text is. */
const PLAIN = /^[ !#-[\]-~]*$/

function writeString(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`
  if (!text.isWellFormed()) throw new TypeError('JSON text cannot hold a lone surrogate')
  return JSON.stringify(text)
}

function writeArray(items: readonly unknown[], depth: number): string {
  let text = ''
  // By index, so that a hole reads as undefined and is refused.
  for (let index = 0; index < items.length; index += 1)
    text += `${index === 0 ? '' : ','}${write(items[index], depth + 1)}`
  return `[${text}]`
}

function writeObject(object: object, depth: number): string {
  const prototype: unknown = Object.getPrototypeOf(object)
  if (prototype !== Object.prototype && prototype !== null)
    throw new TypeError('JSON cannot hold an object with a class of its own')
  const members = object as Readonly<Record<string, unknown>>
  // ECMAScript's default string order is by UTF-16 code units, as RFC 8785 §3.2.3 requires.
  const names = Object.keys(members).toSorted()
  let text = ''
  for (const name of names)
    text += (text === '' ? '' : ',') + writeName(name) + write(members[name], depth + 1)
  return `{${text}}`
}

/** Serialized member names: a few recur in every entry. At the limit the cache is cleared. */
const NAMES_MAX = 4_096
const writtenNames = new Map<string, string>()

function writeName(name: string): string {
  let written = writtenNames.get(name)
  if (written === undefined) {
    written = `${writeString(name)}:`
    if (writtenNames.size >= NAMES_MAX) writtenNames.clear()
    writtenNames.set(name, written)
  }
  return written
}
