import type { TokenClaims, TokenVerdict } from '@tallystick/jwt-lite'
import { type ErrorAnswer, presentedToken } from '@tallystick/service-kit'
import { invalidToken } from '../errors.ts'

/** What an `Authorization` header is worth. */
export type BearerCheck =
  | { readonly kind: 'valid'; readonly claims: TokenClaims }
  /** With the 401 that says so. */
  | { readonly kind: 'refused'; readonly answer: ErrorAnswer }

export type BearerCheckDeps = {
  readonly verifyToken: (token: string) => TokenVerdict
  /** URL that a 401 names, see care.md, Authentication 8. */
  readonly metadataUrl: string
  readonly serviceName: string
}

/** Nothing, or more than one word, after `Bearer` is no token (RFC 6750 §2.1): none was presented then. */
const IS_ONE_WORD = /^\S+$/

/** Checks the bearer token of a route that answers a missing or failing one with 401 `invalid_token`. */
export function checkBearer(authorization: string | undefined, deps: BearerCheckDeps): BearerCheck {
  const presented = presentedToken(authorization)
  if (presented.kind !== 'bearer' || !IS_ONE_WORD.test(presented.token))
    return { kind: 'refused', answer: invalidToken(undefined, deps) }
  const verdict = deps.verifyToken(presented.token)
  return verdict.kind === 'valid'
    ? verdict
    : { kind: 'refused', answer: invalidToken(verdict.failure, deps) }
}
