/**
 * Issuers besides this service's own secrets (C23): what an operator configures for one, and what its claims are worth here.
 * The adapter handles keys and signatures.
 */
import { grantedScopes, narrowScopes } from '@tallystick/jwt-lite'
import { z } from 'zod'
import { bareScope, CARE_SCOPES, isCareScope, namesFor, READ_SCOPES } from './scopes.ts'

/** How far an issuer's clock may be ahead of this one. */
const CLOCK_TOLERANCE_SECONDS = 5

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Whether keys may come from there: https, or this machine. */
export function isKeyAddress(text: string): boolean {
  const url = URL.parse(text)
  if (url === null || url.username !== '' || url.hash !== '') return false
  return url.protocol === 'https:' || isLoopback(text)
}

/** Whether a URL is plain http to this machine. */
export function isLoopback(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === 'http:' && LOOPBACK_NAMES.has(url.hostname)
}

const keyAddress = z.string().refine(isKeyAddress)

const advertised = z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/)

const trustedIssuer = z.strictObject({
  /** Its `iss`, to the letter. A `|` would let it name principals of another issuer. */
  issuer: keyAddress.refine((text) => !text.includes('|')),
  /** Where its keys are; if absent, its discovery document says so. */
  jwks_uri: keyAddress.optional(),
  algorithms: z
    .array(z.enum(['RS256', 'ES256', 'EdDSA']))
    .min(1)
    .default(['RS256', 'ES256', 'EdDSA']),
  /** Its access tokens' `typ`; if absent, `JWT`, `at+jwt` or none is accepted. */
  typ: z.string().min(1).optional(),
  /** What care's own pages are called there; if absent, they register themselves. */
  client_id: z.string().min(1).optional(),
  /** Audiences of its tokens for this service, besides the MCP addresses: an id, `api://…` (C41). */
  audience: z.array(z.string().min(1)).min(1).optional(),
  /** What programs ask it for, in its own words; ours are those whose names end so. */
  scopes: z
    .array(advertised)
    .refine((names) => names.some((name) => isCareScope(bareScope(name))))
    .optional(),
  /** The claim that lists scopes: a text with spaces, or an array; if absent, `scope` or else `scp`. */
  scope_claim: z.string().min(1).optional(),
  /** Who has which rights. With grants, the token's scopes only narrow them; without, the scopes are the rights. */
  grants: z
    .array(
      z.strictObject({
        claim: z.string().min(1),
        value: z.string().min(1).optional(),
        scopes: z.array(z.string().refine(isCareScope)).min(1),
      }),
    )
    .min(1)
    .optional(),
})

export type TrustedIssuer = z.output<typeof trustedIssuer>

const hasNoRepeats = (issuers: readonly TrustedIssuer[]): boolean =>
  new Set(issuers.map(({ issuer }) => issuer)).size === issuers.length

/** `TRUSTED_ISSUERS`. */
export const trustedIssuers = z.array(trustedIssuer).refine(hasNoRepeats)

type Claims = Readonly<Record<string, unknown>>

/** The claims that list a token's scopes, if it has any. */
const scopeClaims = (claims: Claims, { scope_claim: name }: TrustedIssuer): readonly unknown[] =>
  (name === undefined ? ['scope', 'scp'] : [name])
    .filter((each) => Object.hasOwn(claims, each))
    .map((each) => claims[each])

/** A scope of a token in our words, also one for a single patient (C24). */
function ownScope(text: string, { scopes = [] }: TrustedIssuer): string {
  const name = scopes.find((each) => text === each || text.startsWith(`${each}:`))
  return name === undefined ? text : bareScope(name) + text.slice(name.length)
}

function listScopes(claims: Claims, issuer: TrustedIssuer): readonly string[] {
  // One that is empty says nothing beside another.
  const [texts = []] = scopeClaims(claims, issuer)
    .map((claim) => (typeof claim === 'string' ? claim.split(/\s+/) : [claim].flat()))
    .map((listed) => listed.filter((text) => typeof text === 'string' && text !== ''))
    .filter((listed): listed is string[] => listed.length > 0)
  return texts.map((text) => ownScope(text, issuer)).filter(isCareScope)
}

function readScopes(claims: Claims, issuer: TrustedIssuer): readonly string[] {
  const { grants } = issuer
  const scopes = listScopes(claims, issuer)
  if (grants === undefined) return scopes
  const granted = grantedScopes(claims, grants).filter(isCareScope)
  // An issuer that knows none of these scopes says nothing about what its client asked for.
  return scopes.length === 0 ? granted : narrowScopes(granted, scopes)
}

/** Keycloak's `typ` of what is no access token. */
const OTHER_KINDS: ReadonlySet<unknown> = new Set(['ID', 'Refresh', 'Offline', 'Logout'])

/**
 * Whether a token is marked as one that its issuer gives to programs about themselves: where an `audience` is also a program's
 * id, an ID token has it too. A `nonce` is such a mark only where no scopes are listed: some access tokens have one.
 */
function isOtherKind(claims: Claims, issuer: TrustedIssuer): boolean {
  const { at_hash: ofToken, c_hash: ofCode, nonce, typ } = claims
  const isIdToken = ofToken !== undefined || ofCode !== undefined || OTHER_KINDS.has(typ)
  return isIdToken || (nonce !== undefined && scopeClaims(claims, issuer).length === 0)
}

/** All of our scopes, and those that read. */
export type AdvertisedScopes = {
  readonly all: readonly string[]
  readonly reading: readonly string[]
}

type SignInPlaces = {
  readonly servers: readonly string[]
  readonly issuers: readonly TrustedIssuer[]
}

/** Where hosts are sent to sign in, without a configured list to the trusted issuers, and what they are told to ask for there. */
export function describeSignIn({ servers: configured, issuers }: SignInPlaces) {
  const servers = configured.length > 0 ? configured : issuers.map(({ issuer }) => issuer)
  const places = { servers, issuers }
  const scopes = { all: advertise(CARE_SCOPES, places), reading: advertise(READ_SCOPES, places) }
  return { servers, scopes }
}

/** Each server's own words for these scopes of ours, and what else it advertises. */
function advertise(ours: readonly string[], { issuers, servers }: SignInPlaces): readonly string[] {
  const advertisedBy = (server: string): readonly string[] => {
    const names = issuers.find(({ issuer }) => issuer === server)?.scopes
    return names === undefined ? ours : namesFor(ours, names)
  }
  return servers.length === 0 ? ours : [...new Set(servers.flatMap(advertisedBy))]
}

/** What is advertised for a scope of ours. */
export const advertisedName = (scope: string, names: readonly string[]): string =>
  names.find((name) => bareScope(name) === scope) ?? scope

/**
 * The claims as this service's own issuer would have written them, for one audience: the principal is `iss|sub`, a token's
 * id `iss|jti` (Entra calls it `uti`), an `aud` that is or lists the audience, or one of the issuer's own, is the audience. Undefined
 * without a number in `iat`, and for another kind of token.
 */
export function ownClaims(
  claims: Claims,
  { issuer, audience }: { readonly issuer: TrustedIssuer; readonly audience: string },
): Claims | undefined {
  const { sub, jti = claims['uti'], aud, iat, nbf = iat } = claims
  if (typeof iat !== 'number' || isOtherKind(claims, issuer)) return undefined
  const accepted = [audience, ...(issuer.audience ?? [])]
  const isForUs = [aud].flat().some((named) => accepted.some((own) => own === named))
  const named = (value: unknown): unknown =>
    typeof value === 'string' && value !== '' ? `${issuer.issuer}|${value}` : undefined
  return {
    exp: claims['exp'],
    iat,
    // Nothing is valid before it was issued.
    nbf: typeof nbf === 'number' ? Math.max(nbf, iat) - CLOCK_TOLERANCE_SECONDS : nbf,
    aud: isForUs ? audience : undefined,
    sub: named(sub),
    jti: named(jti),
    name: claims['name'],
    // Entra's and Okta's older names for it come last.
    client_id: claims['client_id'] ?? claims['azp'] ?? claims['appid'] ?? claims['cid'],
    scope: readScopes(claims, issuer).join(' '),
  }
}
