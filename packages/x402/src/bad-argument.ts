/** Longest part of a value that a message repeats. */
const SHOWN_CHARS = 64

/** 32 bytes in hex: it may be a key, whatever it was given as. */
const MAY_BE_KEY = /[0-9a-f]{64}/i

/** The error for an argument of a caller: its name, what was expected, and what it is; a text that may be a key is not repeated. */
export function badArgument(name: string, value: unknown, expected: string): RangeError {
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value)
  const what = MAY_BE_KEY.test(text)
    ? `${text.length} characters that may hold a key`
    : text.length > SHOWN_CHARS
      ? `${text.slice(0, SHOWN_CHARS)}…`
      : text
  return new RangeError(`${name}: expected ${expected}, not ${what}`)
}

/** A URL without trailing slashes, so that paths can be appended. Throws what `badArgument` makes of anything but http(s). */
export function httpUrl(name: string, value: string): string {
  const url = URL.parse(value)
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw badArgument(name, value, 'an http or https URL')
  return value.replace(/\/+$/, '')
}
