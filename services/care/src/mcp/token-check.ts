import type { TokenClaims, TokenVerifier } from '@tallystick/jwt-lite'
import type { ErrorAnswer } from '@tallystick/service-kit'
import { invalidToken } from '../errors.ts'
import { METADATA_PATH } from '../routes/metadata-routes.ts'

/** What an `Authorization` header is worth. */
export type TokenCheck =
  | { readonly kind: 'valid'; readonly claims: TokenClaims }
  /** With the 401 that says so. */
  | { readonly kind: 'refused'; readonly answer: ErrorAnswer }

/** Checks bearer tokens for `/mcp`. A token anywhere else than in the header is not looked at. */
export function createTokenCheck(options: {
  readonly tokens: TokenVerifier
  readonly serviceName: string
  readonly baseUrl: string
}): (authorization: string | undefined) => TokenCheck {
  const { tokens, serviceName, baseUrl } = options
  const place = { serviceName, metadataUrl: `${baseUrl}${METADATA_PATH}` }

  return (authorization) => {
    const [, token] = /^bearer +(\S+) *$/i.exec(authorization ?? '') ?? []
    if (token === undefined) return { kind: 'refused', answer: invalidToken(undefined, place) }
    const verdict = tokens.verify(token)
    return verdict.kind === 'valid'
      ? verdict
      : { kind: 'refused', answer: invalidToken(verdict.failure, place) }
  }
}
