/** Numbers as people read them. A fraction of 0.05 is 5 %; the minus sign is a real one, and no line breaks before a %. */

/**
 * `+5.4 %`, `−3.2 %`, `0.0 %`: always signed, except for what rounds to nothing.
 *
 * @param {number} fraction
 * @param {number} [digits]
 */
export function signedPercent(fraction, digits = 1) {
  const size = Math.abs(fraction * 100).toFixed(digits)
  if (Number(size) === 0) return `${size}\u00a0%`
  return `${fraction < 0 ? '−' : '+'}${size}\u00a0%`
}

/**
 * `12.3 %` without a plus.
 *
 * @param {number} fraction
 * @param {number} [digits]
 */
export const percent = (fraction, digits = 1) => signedPercent(fraction, digits).replace('+', '')

/**
 * A number with a real minus.
 *
 * @param {number} value
 * @param {number} [digits]
 */
export const number = (value, digits = 2) =>
  `${value < 0 && Number(Math.abs(value).toFixed(digits)) > 0 ? '−' : ''}${Math.abs(value).toFixed(digits)}`

/**
 * As `number`, with a plus where it is above nothing.
 *
 * @param {number} value
 * @param {number} [digits]
 */
export const signed = (value, digits = 2) =>
  `${Number(value.toFixed(digits)) > 0 ? '+' : ''}${number(value, digits)}`

/**
 * `−1.2 to +3.4 %`.
 *
 * @param {readonly [number, number] | null} interval
 */
export const percentInterval = (interval) =>
  interval === null
    ? 'no interval'
    : `${signedPercent(interval[0]).replace('\u00a0%', '')} to ${signedPercent(interval[1])}`

/** @param {number} count */
export const grouped = (count) => new Intl.NumberFormat('en-GB').format(count)

/**
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export const counted = (count, one, many = `${one}s`) =>
  `${grouped(count)} ${count === 1 ? one : many}`

/**
 * A time in UTC, `26 May 2026, 15:00 UTC`; the day alone where no more is known.
 *
 * @param {string} iso
 * @param {'second' | 'day'} [precision]
 */
export function timeText(iso, precision = 'second') {
  /** @type {Intl.DateTimeFormatOptions} */
  const day = { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' }
  /** @type {Intl.DateTimeFormatOptions} */
  const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }
  const options = precision === 'day' ? day : { ...day, ...clock }
  const text = new Intl.DateTimeFormat('en-GB', options).format(new Date(iso))
  return precision === 'day' ? text : `${text} UTC`
}

/**
 * Base units as an amount, without trailing zeros beyond cents.
 *
 * @param {string} amount
 * @param {number} decimals
 */
export function tokenAmount(amount, decimals) {
  const digits = amount.padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction.padEnd(2, '0')}`
}
