import { createTokenKeys, type TokenKeys } from './token-keys.ts'

/** How long a token lives by default, in seconds (care document, Limits). */
export const DEFAULT_LIFETIME_SECONDS = 3600

type TokenRequest = {
  /** The principal. */
  readonly sub: string
  /** Scopes, separated by spaces. */
  readonly scope: string
  /** The one resource that the token is for: care's MCP endpoint URL. */
  readonly audience: string
  /** Header `typ`, such as `care+jwt`. */
  readonly typ: string
  /** Whole seconds from `nowSeconds` to `exp`. */
  readonly lifetimeSeconds?: number | undefined
  /** The secret's bytes, or a ring whose first secret signs. */
  readonly key: Uint8Array | TokenKeys
  /** Unix time in seconds; a fraction is truncated. */
  readonly nowSeconds: number
  /** Unique id of the token. */
  readonly jti: string
}

/**
 * A compact HS256 token with the claims sub, scope, aud, iat, exp and jti. It mints even tokens that no service
 * would accept. Throws a RangeError for a lifetime that is not whole seconds or a secret under 32 bytes.
 */
export function mintToken(request: TokenRequest): string {
  const { sub, scope, audience, typ, jti, lifetimeSeconds = DEFAULT_LIFETIME_SECONDS } = request
  const iat = Math.floor(request.nowSeconds)
  const exp = iat + lifetimeSeconds
  if (!Number.isSafeInteger(exp)) throw new RangeError('the lifetime of a token is whole seconds')
  const keys = request.key instanceof Uint8Array ? createTokenKeys([request.key]) : request.key
  const header = encodeSegment({ alg: 'HS256', typ })
  const claims = encodeSegment({ sub, scope, aud: audience, iat, exp, jti })
  const signingInput = `${header}.${claims}`
  return `${signingInput}.${keys.sign(signingInput)}`
}

function encodeSegment(value: Readonly<Record<string, string | number>>): string {
  return Buffer.from(JSON.stringify(value), 'utf8').toString('base64url')
}
