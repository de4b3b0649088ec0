import { hash, timingSafeEqual } from 'node:crypto'
import type { Secret } from './secret.ts'

/**
 * Reads an `Authorization` header, the only place for a token: `bearer` with a token not yet verified, perhaps empty, or
 * `other` for a scheme that no service of ours understands. The scheme's case does not matter (RFC 9110 §11.1).
 */
export function presentedToken(authorization: string | undefined) {
  if (authorization === undefined) return { kind: 'none' } as const
  const match = /^bearer(?:$| +(.*)$)/i.exec(authorization)
  return match === null
    ? ({ kind: 'other' } as const)
    : ({ kind: 'bearer', token: match[1] ?? '' } as const)
}

/** Whether an `Authorization` header carries exactly this bearer token; takes the same time for every wrong one. */
export function isBearer(authorization: string | undefined, token: Secret): boolean {
  const presented = presentedToken(authorization)
  if (presented.kind !== 'bearer') return false
  // Digests have one length, which timingSafeEqual demands; the length of the token does not show.
  return timingSafeEqual(
    hash('sha256', Buffer.from(presented.token), 'buffer'),
    hash('sha256', token.bytes(), 'buffer'),
  )
}
