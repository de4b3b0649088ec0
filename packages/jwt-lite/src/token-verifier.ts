import { hash } from 'node:crypto'
import type { TokenKeys } from './token-keys.ts'
import { type TokenClaims, type TokenVerdict, verifyToken } from './verify-token.ts'

/** About one token for each session of a busy process; an entry holds a digest and its claims, well under 1 KiB. */
export const DEFAULT_CACHE_SIZE = 4096

/** Verifies tokens for one audience and remembers which were valid. */
export type TokenVerifier = {
  /** The same answer as `verifyToken` at the clock's present time. */
  verify(token: string): TokenVerdict
  /** How many valid tokens are remembered at present. */
  readonly cachedTokens: number
}

/**
 * A verifier with a bounded memory of valid tokens, the least recently used forgotten first. Tokens are remembered by
 * their SHA-256 and never beyond their `exp`; refused tokens are not remembered, so nobody can fill the memory without
 * valid ones. Throws a RangeError for a `cacheSize` that is not a whole number from 0.
 */
export function createTokenVerifier(options: {
  readonly keys: TokenKeys
  readonly audience: string
  readonly clock: { unixMs(): number }
  readonly cacheSize?: number
}): TokenVerifier {
  const { keys, audience, clock, cacheSize = DEFAULT_CACHE_SIZE } = options
  if (!Number.isSafeInteger(cacheSize) || cacheSize < 0)
    throw new RangeError('the cache size is a whole number from 0')
  const claimsByDigest = new Map<string, TokenClaims>()

  const remember = (digest: string, claims: TokenClaims): void => {
    if (cacheSize === 0) return
    claimsByDigest.set(digest, claims)
    if (claimsByDigest.size <= cacheSize) return
    const [oldest] = claimsByDigest.keys()
    if (oldest !== undefined) claimsByDigest.delete(oldest)
  }

  return {
    verify: (token) => {
      const nowSeconds = clock.unixMs() / 1000
      const digest = hash('sha256', token)
      const known = claimsByDigest.get(digest)
      if (known === undefined) {
        const verdict = verifyToken(token, { keys, audience, nowSeconds })
        if (verdict.kind === 'valid') remember(digest, verdict.claims)
        return verdict
      }
      claimsByDigest.delete(digest)
      if (known.expiresAtSeconds <= nowSeconds) return { kind: 'invalid', failure: 'expired' }
      // Put back at the end: the order of a map is the order of use.
      claimsByDigest.set(digest, known)
      return { kind: 'valid', claims: known }
    },
    get cachedTokens() {
      return claimsByDigest.size
    },
  }
}
