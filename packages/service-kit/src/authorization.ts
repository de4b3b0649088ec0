import { hash, timingSafeEqual } from 'node:crypto'
import type { Secret } from './secret.ts'

/** What an `Authorization` header holds. Tokens are accepted nowhere else. */
type PresentedToken =
  | { readonly kind: 'none' }
  /** Another scheme, which no service of ours understands. */
  | { readonly kind: 'other' }
  /** A bearer token, not yet verified, perhaps empty. */
  | { readonly kind: 'bearer'; readonly token: string }

/** Reads an `Authorization` header; the scheme's case does not matter (RFC 9110 §11.1). */
export function presentedToken(authorization: string | undefined): PresentedToken {
  if (authorization === undefined) return { kind: 'none' }
  const match = /^bearer(?:$| +(.*)$)/i.exec(authorization)
  return match === null ? { kind: 'other' } : { kind: 'bearer', token: match[1] ?? '' }
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
