/**
 * Verification of compact HS256 tokens in the order that care's document prescribes (Authentication 3). The caller
 * supplies the time, the audience and the keys.
 */
import { hash } from 'node:crypto'
import type { TokenKeys } from './token-keys.ts'

/** Bounds the parsing; most proxies refuse longer header lines. */
const TOKEN_CHARACTERS_MAX = 8192

/** The end of ECMAScript's time: a later `exp` means the same. */
const EXPIRY_SECONDS_MAX = 8_640_000_000_000

/** One more than a token has, so that a fourth segment shows. */
const SEGMENTS_READ = 4

/** Why a token is refused, in the order of the checks: the first that applies is reported. */
export type TokenFailure =
  | 'malformed'
  | 'bad_alg'
  | 'bad_signature'
  | 'expired'
  | 'not_yet_valid'
  | 'revoked'
  | 'wrong_audience'
  | 'no_scopes'

/** A valid token says this. */
export type TokenClaims = {
  /** The principal, never empty. */
  readonly sub: string
  /** Scopes in the token's order, without repeats, at least one. */
  readonly scopes: readonly string[]
  /** Unix time, possibly with a fraction; the token is valid strictly before it. */
  readonly expiresAtSeconds: number
  /** Unix time from which the token is valid, if it has an `nbf`. */
  readonly notBeforeSeconds?: number
  /** Its `iat`, Unix time, if it has one. */
  readonly issuedAtSeconds?: number
  /** The program that it was issued to: its `client_id` (RFC 9068), or else its `azp`. */
  readonly client?: string
  /** The holder's `name` as its issuer shows it, if it has one. */
  readonly name?: string
  /** The id under which this one token can be revoked, if it has one. */
  readonly jti?: string
}

/**
 * Whether a token was revoked, by its `jti`, or as one of its principal's that were issued until then; asked at each use, so that
 * a revocation takes effect at once. Without a number in `iat` nobody can tell that it is newer.
 */
export type IsRevoked = (token: {
  readonly sub: string
  readonly jti?: string | undefined
  readonly issuedAtSeconds?: number | undefined
}) => boolean

export type TokenVerdict =
  | { readonly kind: 'valid'; readonly claims: TokenClaims }
  | { readonly kind: 'invalid'; readonly failure: TokenFailure }

/**
 * Checks a token. Never throws, whatever the text.
 *
 * 1. `malformed`: longer than 8,192 characters, not three segments, a header that is not a JSON object in strict
 *    base64url, or one with `crit`, whose extensions are unknown here (RFC 7515 §4.1.11).
 * 2. `bad_alg`: `alg` is not `HS256`.
 * 3. `bad_signature`: by none of the keys, or any other spelling of a right one. Claims are not read before this; signed
 *    claims that are not a JSON object are `malformed`.
 * 4. `expired`: `exp` is not in the future, or not a number (RFC 7519 §2: it may have a fraction). `not_yet_valid`: there is
 *    an `nbf`, and it is in the future or not a number. `revoked`: `isRevoked` says so.
 * 5. `wrong_audience`: `aud` is not that one string; a list is refused even if it contains it.
 * 6. `no_scopes`: no scope, or a `sub` that is empty or not a string.
 *
 * `typ` is not checked, and `iat` only by `isRevoked`.
 */
export function verifyToken(
  token: string,
  expected: {
    readonly keys: TokenKeys
    readonly audience: string
    /** Unix time in seconds. */
    readonly nowSeconds: number
    readonly isRevoked?: IsRevoked | undefined
  },
): TokenVerdict {
  if (token.length > TOKEN_CHARACTERS_MAX) return invalid('malformed')
  const [headerText, claimsText, signature, ...rest] = token.split('.', SEGMENTS_READ)
  if (headerText === undefined || claimsText === undefined || signature === undefined)
    return invalid('malformed')
  const header = decodeObject(headerText)
  if (rest.length > 0 || header === undefined || 'crit' in header) return invalid('malformed')
  if (header['alg'] !== 'HS256') return invalid('bad_alg')
  const signingInput = `${headerText}.${claimsText}`
  if (!expected.keys.matches({ signingInput, signature })) return invalid('bad_signature')
  const claims = decodeObject(claimsText)
  return claims === undefined ? invalid('malformed') : judgeTokenClaims(claims, expected)
}

/**
 * Judges the claims of a token whose signature was verified: steps 4 to 6 of `verifyToken`. For tokens whose signatures are
 * checked elsewhere.
 */
export function judgeTokenClaims(
  claims: JsonObject,
  expected: {
    readonly audience: string
    readonly nowSeconds: number
    readonly isRevoked?: IsRevoked | undefined
  },
): TokenVerdict {
  const { exp, nbf, sub } = claims
  if (typeof exp !== 'number' || !Number.isFinite(exp) || exp <= expected.nowSeconds)
    return invalid('expired')
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= expected.nowSeconds))
    return invalid('not_yet_valid')
  const client = claims['client_id'] ?? claims['azp']
  const known = {
    ...(typeof client === 'string' ? { client } : {}),
    ...(typeof claims['iat'] === 'number' ? { issuedAtSeconds: claims['iat'] } : {}),
    ...(typeof claims['jti'] === 'string' ? { jti: claims['jti'] } : {}),
    ...(typeof claims['name'] === 'string' ? { name: claims['name'] } : {}),
  }
  if (typeof sub === 'string' && expected.isRevoked?.({ sub, ...known }) === true)
    return invalid('revoked')
  if (claims['aud'] !== expected.audience) return invalid('wrong_audience')
  const scope = claims['scope']
  const scopes = typeof scope === 'string' ? scope.split(' ').filter((name) => name !== '') : []
  if (scopes.length === 0 || typeof sub !== 'string' || sub === '') return invalid('no_scopes')
  return {
    kind: 'valid',
    claims: {
      sub,
      scopes: [...new Set(scopes)],
      expiresAtSeconds: Math.min(exp, EXPIRY_SECONDS_MAX),
      ...(typeof nbf === 'number' ? { notBeforeSeconds: nbf } : {}),
      ...known,
    },
  }
}

type JsonObject = Readonly<Record<string, unknown>>

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The JSON object of a segment in canonical base64url, or undefined. */
function decodeObject(segment: string): JsonObject | undefined {
  const bytes = Buffer.from(segment, 'base64url')
  // The decoder forgives padding, foreign characters and trailing bits; encoding its result again would differ.
  if (bytes.toString('base64url') !== segment) return undefined
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes))
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

function invalid(failure: TokenFailure): TokenVerdict {
  return { kind: 'invalid', failure }
}

/** About one token per session of a busy process; an entry is a digest with its claims, well under 1 KiB. */
const DEFAULT_CACHE_SIZE = 4096

/** Verifies tokens for one audience and remembers which were valid. */
export type TokenVerifier = {
  /** The same answer as `verifyToken` at the clock's current time. */
  verify(token: string): TokenVerdict
}

/**
 * A verifier with a bounded cache of valid tokens, the least recently used dropped first. Tokens are remembered by their
 * SHA-256 and never beyond their `exp`. Refused tokens are not remembered, so only valid ones can fill it.
 */
export function createTokenVerifier(options: {
  readonly keys: TokenKeys
  readonly audience: string
  readonly clock: { unixMs(): number }
  readonly cacheSize?: number
  readonly isRevoked?: IsRevoked | undefined
}): TokenVerifier {
  const { keys, audience, clock, cacheSize = DEFAULT_CACHE_SIZE, isRevoked } = options
  const claimsByDigest = new Map<string, TokenClaims>()

  const remember = (digest: string, claims: TokenClaims): void => {
    claimsByDigest.set(digest, claims)
    const [oldest] = claimsByDigest.keys()
    if (claimsByDigest.size > cacheSize && oldest !== undefined) claimsByDigest.delete(oldest)
  }

  return {
    verify: (token) => {
      const nowSeconds = clock.unixMs() / 1000
      const digest = hash('sha256', token)
      const known = claimsByDigest.get(digest)
      if (known === undefined) {
        const verdict = verifyToken(token, { keys, audience, nowSeconds, isRevoked })
        if (verdict.kind === 'valid') remember(digest, verdict.claims)
        return verdict
      }
      claimsByDigest.delete(digest)
      if (known.expiresAtSeconds <= nowSeconds) return { kind: 'invalid', failure: 'expired' }
      if ((known.notBeforeSeconds ?? 0) > nowSeconds)
        return { kind: 'invalid', failure: 'not_yet_valid' }
      if (isRevoked?.(known) === true) return { kind: 'invalid', failure: 'revoked' }
      // Reinserted at the end: the map's order is the order of use.
      claimsByDigest.set(digest, known)
      return { kind: 'valid', claims: known }
    },
  }
}
