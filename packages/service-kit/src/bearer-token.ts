import { hash, timingSafeEqual } from 'node:crypto'
import type { Secret } from './secret.ts'

/**
 * Reads an `Authorization` header, the only place for a token: `bearer` with an unverified and possibly empty token, or
 * `other` for a scheme that none of our services understands. The scheme is case-insensitive (RFC 9110 §11.1).
 */
export function presentedToken(authorization: string | undefined) {
  if (authorization === undefined) return { kind: 'none' } as const
  const match = /^bearer(?:$| +(.*)$)/i.exec(authorization)
  return match === null
    ? ({ kind: 'other' } as const)
    : ({ kind: 'bearer', token: match[1] ?? '' } as const)
}

/** Whether an `Authorization` header carries exactly this bearer token. Every wrong token takes the same time. */
export function isBearer(authorization: string | undefined, token: Secret): boolean {
  const presented = presentedToken(authorization)
  if (presented.kind !== 'bearer') return false
  // Digests have equal length, as timingSafeEqual demands, and hide the token's length.
  return timingSafeEqual(
    hash('sha256', Buffer.from(presented.token), 'buffer'),
    hash('sha256', token.bytes(), 'buffer'),
  )
}
