import { hash, timingSafeEqual } from 'node:crypto'
import { presentedToken } from './presented-token.ts'
import type { Secret } from './secret.ts'

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
