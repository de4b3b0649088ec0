/**
 * Issuers besides this service's own secrets (C23): what an operator configures for one, and what its claims are worth here.
 * The adapter handles keys and signatures.
 */
import { grantedScopes, narrowScopes } from '@tallystick/jwt-lite'
import { z } from 'zod'
import { isCareScope } from './scopes.ts'

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
  /** The claim that lists scopes: a text with spaces, or an array. */
  scope_claim: z.string().min(1).default('scope'),
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

const listed = (claim: unknown): readonly string[] => {
  const texts = typeof claim === 'string' ? claim.split(' ') : [claim].flat()
  return texts.filter((text): text is string => typeof text === 'string' && isCareScope(text))
}

function scopesOf(claims: Claims, { grants, scope_claim }: TrustedIssuer): readonly string[] {
  const asked = listed(Object.hasOwn(claims, scope_claim) ? claims[scope_claim] : undefined)
  if (grants === undefined) return asked
  const granted = grantedScopes(claims, grants).filter(isCareScope)
  // An issuer that knows none of these scopes says nothing about what its client asked for.
  return asked.length === 0 ? granted : narrowScopes(granted, asked)
}

/**
 * The claims as this service's own issuer would have written them, for one audience: the principal is `iss|sub`, a token's
 * id `iss|jti`, an `aud` that lists the audience is the audience. Undefined without a number in `iat`.
 */
export function ownClaims(
  claims: Claims,
  { issuer, audience }: { readonly issuer: TrustedIssuer; readonly audience: string },
): Claims | undefined {
  const { sub, jti, aud, iat, nbf = iat } = claims
  if (typeof iat !== 'number') return undefined
  const named = (value: unknown): unknown =>
    typeof value === 'string' && value !== '' ? `${issuer.issuer}|${value}` : undefined
  return {
    exp: claims['exp'],
    iat,
    // Nothing is valid before it was issued.
    nbf: typeof nbf === 'number' ? Math.max(nbf, iat) - CLOCK_TOLERANCE_SECONDS : nbf,
    aud: Array.isArray(aud) && aud.includes(audience) ? audience : aud,
    sub: named(sub),
    jti: named(jti),
    name: claims['name'],
    client_id: claims['client_id'] ?? claims['azp'],
    scope: scopesOf(claims, issuer).join(' '),
  }
}
