/** Bytes, and numbers of 32 bytes, as hex with `0x` in lower case. */

/** @param {Uint8Array} bytes */
export function hexOfBytes(bytes) {
  return `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

/**
 * The bytes of hex with `0x`. Throws RangeError for anything else.
 *
 * @param {string} hex
 */
export function bytesOfHex(hex) {
  if (!/^0x(?:[0-9a-fA-F]{2})*$/.test(hex)) throw new RangeError('not bytes in hex')
  return Uint8Array.from(hex.slice(2).match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}

/**
 * A number as 32 bytes, big endian. Throws RangeError outside 0 … 2^256 − 1.
 *
 * @param {bigint} value
 */
export function wordOf(value) {
  if (value < 0n || value >= 1n << 256n) throw new RangeError('not a 256-bit unsigned integer')
  return bytesOfHex(`0x${value.toString(16).padStart(64, '0')}`)
}

/** @param {...Uint8Array} parts */
export function joinBytes(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
