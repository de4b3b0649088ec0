/** Numbers as people read them. A fraction of 0.05 is 5 %, the minus sign is typographic, and no line breaks before a %. */

/** `+5.4 %`, `−3.2 %`, `0.0 %`: always signed, unless it rounds to zero. */
export function signedPercent(fraction: number, digits = 1): string {
  const size = Math.abs(fraction * 100).toFixed(digits)
  if (Number(size) === 0) return `${size}\u00a0%`
  return `${fraction < 0 ? '−' : '+'}${size}\u00a0%`
}

/** `12.3 %` without a plus. */
export const percent = (fraction: number, digits = 1): string =>
  signedPercent(fraction, digits).replace('+', '')

/** A number with a typographic minus. */
export const number = (value: number, digits = 2): string =>
  `${value < 0 && Number(Math.abs(value).toFixed(digits)) > 0 ? '−' : ''}${Math.abs(value).toFixed(digits)}`

/** As `number`, with a plus above zero. */
export const signed = (value: number, digits = 2): string =>
  `${Number(value.toFixed(digits)) > 0 ? '+' : ''}${number(value, digits)}`

/** `−1.2 to +3.4 %`. */
export const percentInterval = (interval: readonly [number, number] | null): string =>
  interval === null
    ? 'no interval'
    : `${signedPercent(interval[0]).replace('\u00a0%', '')} to ${signedPercent(interval[1])}`

export const grouped = (count: number): string => new Intl.NumberFormat('en-GB').format(count)

export const counted = (count: number, singular: string): string =>
  `${grouped(count)} ${count === 1 ? singular : `${singular}s`}`

/** A day alone has no time. */
const isDay = (iso: string): boolean => iso.length === '2026-05-26'.length

/** A time in UTC, `26 May 2026, 15:00 UTC`; the day alone if no more is known. */
export function timeText(
  iso: string,
  precision: 'second' | 'day' = isDay(iso) ? 'day' : 'second',
): string {
  const day = { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' } as const
  const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  const options = precision === 'day' ? day : { ...day, ...clock }
  const text = new Intl.DateTimeFormat('en-GB', options).format(new Date(iso))
  return precision === 'day' ? text : `${text} UTC`
}

/** A sentence of the service with the minus sign of these pages; a score such as 2-1 keeps its dash. */
export const withMinus = (text: string): string => text.replaceAll(/(^|[\s(])-(?=\d)/g, '$1−')

/** Base units of a dollar token as dollars: `$0.01`. */
export function dollarText(amount: bigint, decimals: number): string {
  const digits = String(amount).padStart(decimals + 1, '0')
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return `$${digits.slice(0, digits.length - decimals)}.${fraction.padEnd(2, '0')}`
}
