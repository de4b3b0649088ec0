import { invalidParameter } from './mirror-query.ts'

/**
 * The transaction id that a path names, as records have it: `0.0.2-1700000000-000000001`. Leading zeros of the nanoseconds
 * may be left out. @throws MirrorRefusal that names `parameter`
 */
export function readTransactionId(text: string, parameter: string): string {
  const match = /^(0\.0\.\d{1,15}-\d{1,19})-(\d{1,9})$/.exec(text)
  if (match?.[2] === undefined) throw invalidParameter(parameter)
  return `${match[1]}-${match[2].padStart(9, '0')}`
}
