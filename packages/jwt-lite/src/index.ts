export { DEFAULT_LIFETIME_SECONDS, mintToken, type TokenRequest } from './mint-token.ts'
export {
  createTokenKeys,
  type ParsedTokenKeys,
  parseTokenKeys,
  TOKEN_SECRET_BYTES_MIN,
  type TokenKeys,
} from './token-keys.ts'
export { createTokenVerifier, DEFAULT_CACHE_SIZE, type TokenVerifier } from './token-verifier.ts'
export {
  TOKEN_CHARACTERS_MAX,
  type TokenClaims,
  type TokenFailure,
  type TokenVerdict,
  verifyToken,
} from './verify-token.ts'
