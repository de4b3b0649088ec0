import type { TokenClaims, TokenVerifier } from '@tallystick/jwt-lite'
import { CARE_SCOPES } from '../domain/record-access.ts'

/** What an `Authorization` header is worth. */
export type TokenCheck =
  | { readonly kind: 'valid'; readonly claims: TokenClaims }
  | {
      readonly kind: 'refused'
      /** `WWW-Authenticate` (care.md, Authentication 8). */
      readonly challenge: string
      /** Failure name, or `bearer token required`. */
      readonly description: string
    }

/** Checks bearer tokens for `/mcp`. A token anywhere else than in the header is not looked at. */
export function createTokenCheck(options: {
  readonly tokens: TokenVerifier
  readonly serviceName: string
  readonly baseUrl: string
}): (authorization: string | undefined) => TokenCheck {
  const { tokens, serviceName, baseUrl } = options
  const metadataUrl = `${baseUrl}/.well-known/oauth-protected-resource/mcp`
  const bare = `Bearer realm="${serviceName}", resource_metadata="${metadataUrl}"`
  const failed = `${bare}, error="invalid_token", scope="${CARE_SCOPES.join(' ')}"`

  return (authorization) => {
    const [, token] = /^bearer +(\S+) *$/i.exec(authorization ?? '') ?? []
    if (token === undefined)
      return { kind: 'refused', challenge: bare, description: 'bearer token required' }
    const verdict = tokens.verify(token)
    return verdict.kind === 'valid'
      ? verdict
      : { kind: 'refused', challenge: failed, description: verdict.failure }
  }
}
