/**
 * Tokens of trusted issuers beside the HS256 ring (C23). A token goes to an issuer only if its `alg` is not the ring's, so no
 * public key is ever near the HMAC path, and the ring's tokens are judged exactly as without any issuer.
 */
import { hash } from 'node:crypto'
import {
  type IsRevoked,
  judgeTokenClaims,
  type TokenFailure,
  type TokenVerdict,
  type TokenVerifier,
} from '@tallystick/jwt-lite'
import { BoundedMap, type Clock } from '@tallystick/service-kit'
import { compactVerify, decodeJwt, decodeProtectedHeader, errors } from 'jose'
import { ownClaims, type TrustedIssuer } from '../../domain/trusted-issuer.ts'
import type { TokenCheck } from '../../routes/bearer.ts'
import { IssuerKeys, type IssuerUnavailable, type KeptKeys } from './issuer-keys.ts'

/** How many verified tokens are remembered; an entry is a digest and its claims. */
const VERIFIED_MAX = 4_096

/** Every `alg` that can be trusted, and its name in configuration (RFC 9864 renames Ed25519). */
const ALGORITHMS: ReadonlyMap<unknown, TrustedIssuer['algorithms'][number]> = new Map([
  ['RS256', 'RS256'],
  ['ES256', 'ES256'],
  ['EdDSA', 'EdDSA'],
  ['Ed25519', 'EdDSA'],
])

/** Types of an access token where its issuer has fixed none; an ID or logout token has others or another audience. */
const USUAL_TYPES: ReadonlySet<string> = new Set(['jwt', 'at+jwt'])

type Issuer = { readonly trust: TrustedIssuer; readonly keys: IssuerKeys }
type Claims = Readonly<Record<string, unknown>>
type Verified = { readonly issuer: Issuer; readonly claims: Claims; readonly mark: string }

const invalid = (failure: TokenFailure): TokenVerdict => ({ kind: 'invalid', failure })

type TrustedIssuersOptions = {
  readonly issuers: readonly TrustedIssuer[]
  readonly clock: Clock
  readonly isRevoked?: IsRevoked | undefined
  readonly countProcesses?: (() => number) | undefined
  /** Called for each failed fetch of keys. */
  readonly onProblem: (error: IssuerUnavailable) => void
}

/**
 * Returns a function that adds the issuers' tokens to a verifier of the ring's, for its audience. All audiences share keys and
 * verified signatures. Without an issuer that function returns the verifier itself.
 */
export function createTrustedIssuers(options: TrustedIssuersOptions) {
  const { clock, countProcesses, isRevoked, onProblem } = options
  const issuers = new Map<unknown, Issuer>(
    options.issuers.map((trust) => {
      const { issuer, jwks_uri: jwksUri } = trust
      const keysOptions = { issuer, jwksUri, clock, countProcesses, onProblem }
      return [issuer, { trust, keys: new IssuerKeys(keysOptions) }]
    }),
  )
  const verified = new BoundedMap<string, Verified>(VERIFIED_MAX)

  const judge = ({ claims, issuer }: Verified, audience: string): TokenVerdict => {
    const own = ownClaims(claims, { issuer: issuer.trust, audience })
    const nowSeconds = clock.unixMs() / 1_000
    return own === undefined
      ? invalid('malformed')
      : judgeTokenClaims(own, { audience, nowSeconds, isRevoked })
  }
  const verify = (token: string, audience: string): TokenVerdict | Promise<TokenVerdict> => {
    const digest = hash('sha256', token)
    const known = verified.get(digest)
    // Once its issuer's keys change, a token is verified again.
    if (known !== undefined && known.issuer.keys.fresh?.mark === known.mark)
      return judge(known, audience)
    const read = readToken(token, issuers)
    if ('failure' in read) return invalid(read.failure)
    return checkSignature(token, read).then((found) => {
      if (typeof found === 'string') return invalid(found)
      const verdict = judge(found, audience)
      if (verdict.kind === 'valid') verified.set(digest, found)
      return verdict
    })
  }
  return (ring: TokenVerifier, audience: string): TokenCheck => {
    if (issuers.size === 0) return ring
    return {
      verify: (token) => {
        const verdict = ring.verify(token)
        const isOurs = verdict.kind === 'valid' || verdict.failure !== 'bad_alg'
        return isOurs ? verdict : verify(token, audience)
      },
    }
  }
}

type ReadToken = {
  readonly issuer: Issuer
  readonly algorithm: string
}

/** The issuer that a token names, before any key is used. */
function readToken(
  token: string,
  issuers: ReadonlyMap<unknown, Issuer>,
): ReadToken | { readonly failure: TokenFailure } {
  const { alg, typ } = decodeProtectedHeader(token)
  const algorithm = ALGORITHMS.get(alg)
  if (alg === undefined || algorithm === undefined) return { failure: 'bad_alg' }
  const iss = readIssuer(token)
  if (iss === undefined) return { failure: 'malformed' }
  const issuer = issuers.get(iss)
  // Signed by none of the trusted keys.
  if (issuer === undefined) return { failure: 'bad_signature' }
  if (!issuer.trust.algorithms.includes(algorithm)) return { failure: 'bad_alg' }
  if (!isStrict(token.slice(token.lastIndexOf('.') + 1))) return { failure: 'bad_signature' }
  return isType(typ, issuer.trust.typ) ? { issuer, algorithm: alg } : { failure: 'malformed' }
}

/** A decoder forgives padding, spaces and unused bits: a signature has this one spelling, as the ring's have. */
const isStrict = (signature: string): boolean =>
  Buffer.from(signature, 'base64url').toString('base64url') === signature

const plain = (text: string): string => text.toLowerCase().replace(/^application\//, '')

function isType(typ: unknown, expected: string | undefined): boolean {
  if (typ === undefined) return expected === undefined
  if (typeof typ !== 'string') return false
  return expected === undefined ? USUAL_TYPES.has(plain(typ)) : plain(typ) === plain(expected)
}

function readIssuer(token: string): string | undefined {
  try {
    return decodeJwt(token).iss
  } catch {
    return undefined
  }
}

/** A token that its issuer signed, or why it is not one. Rejects with `IssuerUnavailable`. */
async function checkSignature(
  token: string,
  { issuer, algorithm }: ReadToken,
): Promise<Verified | TokenFailure> {
  const keys = await issuer.keys.current()
  const failure = await signatureFailure(token, keys, algorithm)
  const newer = failure === 'no key' ? await issuer.keys.newerThan(keys) : undefined
  const last = newer === undefined ? failure : await signatureFailure(token, newer, algorithm)
  if (last !== undefined) return 'bad_signature'
  return { issuer, claims: decodeJwt(token), mark: (newer ?? keys).mark }
}

async function signatureFailure(
  token: string,
  { find }: KeptKeys,
  algorithm: string,
): Promise<'no key' | 'bad' | undefined> {
  try {
    await compactVerify(token, find, { algorithms: [algorithm] })
    return undefined
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return 'no key'
    const isNameless = decodeProtectedHeader(token).kid === undefined
    // The key may have been replaced under no name.
    if (error instanceof errors.JWSSignatureVerificationFailed && isNameless) return 'no key'
    if (error instanceof errors.JWKSMultipleMatchingKeys)
      return (await isSignedByOne(token, error, algorithm)) ? undefined : 'no key'
    // Anything else, such as an RSA key that is too short, is no reason to believe the token.
    return 'bad'
  }
}

/** Whether one of several keys that a token without a `kid` may mean has signed it. */
async function isSignedByOne(
  token: string,
  keys: errors.JWKSMultipleMatchingKeys,
  algorithm: string,
): Promise<boolean> {
  for await (const key of keys) {
    const isBy = await compactVerify(token, key, { algorithms: [algorithm] }).then(
      () => true,
      () => false,
    )
    if (isBy) return true
  }
  return false
}
