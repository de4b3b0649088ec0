import { TINYBAR_PER_HBAR } from './network.ts'

const HBAR_PATTERN = /^(\d{1,11})(?:\.(\d{1,8}))?$/

/** Amount for a person: `1234567890n` tinybar is `12.3456789 HBAR`. Exact; a negative amount has a minus sign. */
export function formatHbar(tinybar: bigint): string {
  const size = tinybar < 0n ? -tinybar : tinybar
  const fraction = (size % TINYBAR_PER_HBAR).toString().padStart(8, '0').replace(/0+$/, '')
  const whole = (size / TINYBAR_PER_HBAR).toString()
  return `${tinybar < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`} HBAR`
}

/** Tinybar of a decimal amount in HBAR; undefined for anything else and for amounts finer than a tinybar. */
export function parseHbar(text: string): bigint | undefined {
  const [, whole, fraction = ''] = HBAR_PATTERN.exec(text) ?? []
  if (whole === undefined) return undefined
  return BigInt(whole) * TINYBAR_PER_HBAR + BigInt(fraction.padEnd(8, '0'))
}
