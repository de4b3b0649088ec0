const NANOSECONDS_PER_SECOND = 1_000_000_000n

/** `seconds.nanoseconds` with nine digits, as the mirror node writes timestamps. */
export function formatTimestamp(nanoseconds: bigint): string {
  const fraction = nanoseconds % NANOSECONDS_PER_SECOND
  return `${nanoseconds / NANOSECONDS_PER_SECOND}.${fraction.toString().padStart(9, '0')}`
}

/** Nanoseconds of `seconds` or `seconds.nanoseconds` (one to nine digits), undefined for anything else. */
export function parseTimestamp(text: string): bigint | undefined {
  const match = /^(\d{1,10})(?:\.(\d{1,9}))?$/.exec(text)
  if (match?.[1] === undefined) return undefined
  return BigInt(match[1]) * NANOSECONDS_PER_SECOND + BigInt((match[2] ?? '').padEnd(9, '0'))
}

/** Nanoseconds of a second, Unix seconds. */
export function secondsToNs(seconds: number | bigint): bigint {
  return BigInt(seconds) * NANOSECONDS_PER_SECOND
}

/** Whole seconds of a timestamp in nanoseconds. */
export function nsToSeconds(nanoseconds: bigint): number {
  return Number(nanoseconds / NANOSECONDS_PER_SECOND)
}
