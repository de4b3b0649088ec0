export { grantedScopes, narrowScopes } from './granted-scopes.ts'
export { DEFAULT_LIFETIME_SECONDS, mintToken } from './mint-token.ts'
export {
  createTokenKeys,
  parseTokenKeys,
  TOKEN_SECRET_BYTES_MIN,
  type TokenKeys,
} from './token-keys.ts'
export {
  createTokenVerifier,
  type IsRevoked,
  judgeTokenClaims,
  type TokenClaims,
  type TokenFailure,
  type TokenVerdict,
  type TokenVerifier,
  verifyToken,
} from './verify-token.ts'
