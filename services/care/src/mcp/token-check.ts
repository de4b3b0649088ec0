import type { TokenVerifier } from '@tallystick/jwt-lite'
import { type BearerCheck, checkBearer } from '../routes/check-bearer.ts'
import { METADATA_PATH } from '../routes/metadata-routes.ts'

/** Checks bearer tokens for `/mcp`. A token anywhere else than in the header is not looked at. */
export function createTokenCheck(options: {
  readonly tokens: TokenVerifier
  readonly serviceName: string
  readonly baseUrl: string
}): (authorization: string | undefined) => BearerCheck {
  const { tokens, serviceName, baseUrl } = options
  const deps = {
    verifyToken: (token: string) => tokens.verify(token),
    metadataUrl: `${baseUrl}${METADATA_PATH}`,
    serviceName,
  }
  return (authorization) => checkBearer(authorization, deps)
}
