/** What a token for uploads must be (G8): one of this service's own type, with the scope to write. */
import type { TokenFailure, TokenVerdict } from '@tallystick/jwt-lite'

/** The service's name in its tokens' type (G8). */
export const GRADING_TOKEN_TYPE = 'grading+jwt'
/** The scope that an upload asks for (G8). */
export const GRADING_WRITE_SCOPE = 'grading.write'

/** How a presented token was judged. */
export type UploadTokenVerdict =
  | { readonly kind: 'may_write' }
  | { readonly kind: 'invalid'; readonly failure: TokenFailure | 'wrong_type' }
  | { readonly kind: 'insufficient_scope' }

/** The header's `typ`, of a token whose signature holds, so that its header is known to be a JSON object. */
function typeOf(token: string): unknown {
  const text = Buffer.from(token.slice(0, token.indexOf('.')), 'base64url').toString('utf8')
  return (JSON.parse(text) as { readonly typ?: unknown }).typ
}

/**
 * Judges a token: first as any of ours, by `verify`, then its type, which jwt-lite leaves to the service: a token that was
 * minted for another service under the same secret is none of this one's.
 */
export function judgeUploadToken(
  token: string,
  verify: (token: string) => TokenVerdict,
): UploadTokenVerdict {
  const verdict = verify(token)
  if (verdict.kind === 'invalid') return verdict
  if (typeOf(token) !== GRADING_TOKEN_TYPE) return { kind: 'invalid', failure: 'wrong_type' }
  return verdict.claims.scopes.includes(GRADING_WRITE_SCOPE)
    ? { kind: 'may_write' }
    : { kind: 'insufficient_scope' }
}
