import type { RequestIssue } from '@tallystick/service-kit'

/** 1 to 255 visible ASCII characters: long enough for any UUID or hash. */
const KEY = /^[\x21-\x7e]{1,255}$/

/** What is wrong with an `Idempotency-Key`; undefined where it is well formed or absent. Node joins several with a comma and a space. */
export function idempotencyKeyIssue(
  header: string | string[] | undefined,
): RequestIssue | undefined {
  if (header === undefined || (typeof header === 'string' && KEY.test(header))) return undefined
  return { field: 'header.idempotency-key', expected: '1 to 255 visible ASCII characters' }
}
