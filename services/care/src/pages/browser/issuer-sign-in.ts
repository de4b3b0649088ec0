/**
 * Signing in at an issuer: authorization code with PKCE (S256), as RFC 9700 has it for pages. The token is kept in memory only
 * (C19); what the way there and back needs lies in the tab's storage until the page is back, and opens nothing by itself.
 */
import { fetchInTime, pageFact, Unreachable } from '@tallystick/service-kit/browser'
import { namesFor } from '../../domain/scopes.ts'
import type { SignInFacts } from '../../wire/principal.ts'
import { word } from './words.ts'

type Place = SignInFacts['issuers'][number]

/** What an issuer says of itself (RFC 8414), as far as it matters here. */
type Metadata = {
  readonly issuer?: string
  readonly authorization_endpoint?: string
  readonly token_endpoint?: string
  readonly registration_endpoint?: string
  readonly authorization_response_iss_parameter_supported?: boolean
}

/** A sign-in under way. */
type Begun = {
  readonly place: Place
  readonly clientId: string
  readonly state: string
  readonly verifier: string
  readonly tokenEndpoint: string
  readonly saysIssuer: boolean
}

/** What came back to the page, or nothing did. */
type SignInResult =
  | { readonly kind: 'none' }
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'failed'; readonly why: string }

/** In the tab's storage, which ends with the tab. */
const BEGUN_KEY = 'tallystick-sign-in'
/** RFC 7636 asks for 32 bytes of chance. */
const CHANCE_BYTES = 32

/** Says to the person why a sign-in does not go on. */
class SignInFailed extends Error {}

/** Where people sign in, as the service has configured it. */
export function signInFacts(): SignInFacts {
  const facts = pageFact('sign-in')
  return facts === '' ? { resource: '', issuers: [] } : JSON.parse(facts)
}

const issuerHost = (place: Place): string => new URL(place.issuer).host
const returnAddress = (): string => location.origin + location.pathname

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

const draw = (): string => base64url(crypto.getRandomValues(new Uint8Array(CHANCE_BYTES)))

async function ask(place: Place, address: string, init: Omit<RequestInit, 'signal'> = {}) {
  try {
    const answer = await fetchInTime(address, { credentials: 'omit', ...init })
    const body: Readonly<Record<string, unknown>> = await answer.json().catch(() => ({}))
    return { isGood: answer.ok, body }
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
    throw new SignInFailed(word('issuerSilent', { host: issuerHost(place) }))
  }
}

/** Both names of the document: OpenID Connect's first, which nearly all have. */
function metadataAddresses({ issuer }: Place): readonly string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  return [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ]
}

async function readMetadata(place: Place): Promise<Metadata> {
  for (const address of metadataAddresses(place)) {
    const { body, isGood } = await ask(place, address)
    if (isGood && body['issuer'] === place.issuer) return body
  }
  throw new SignInFailed(word('issuerSaysNothing', { host: issuerHost(place) }))
}

/** Its client id: the configured one, or one that the issuer gives whoever registers. */
async function clientIdAt(place: Place, { registration_endpoint }: Metadata): Promise<string> {
  if (place.clientId !== undefined) return place.clientId
  const unknown = word('pageUnknown', { host: issuerHost(place) })
  if (registration_endpoint === undefined) throw new SignInFailed(unknown)
  const { body } = await ask(place, registration_endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: `Care pages at ${location.host}`.slice(0, 64),
      redirect_uris: [returnAddress()],
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    }),
  })
  const id = body['client_id']
  if (typeof id === 'string') return id
  throw new SignInFailed(unknown)
}

const deriveChallenge = async (verifier: string): Promise<string> =>
  base64url(
    new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))),
  )

async function leaveFor(place: Place, scopes: readonly string[]): Promise<void> {
  if (globalThis.crypto?.subtle === undefined) throw new SignInFailed(word('needsHttps'))
  const metadata = await readMetadata(place)
  const { authorization_endpoint = '', token_endpoint: tokenEndpoint = '' } = metadata
  // The page's policy lets it talk to the issuer's own origin alone.
  if (!tokenEndpoint.startsWith(`${new URL(place.issuer).origin}/`))
    throw new SignInFailed(word('tokensElsewhere', { host: issuerHost(place) }))
  const [state, verifier] = [draw(), draw()]
  const clientId = await clientIdAt(place, metadata)
  const to = new URL(authorization_endpoint)
  if (!/^https?:$/.test(to.protocol))
    throw new SignInFailed(word('noSignInPage', { host: issuerHost(place) }))
  const request = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: returnAddress(),
    scope: (place.scopes === undefined ? scopes : namesFor(scopes, place.scopes)).join(' '),
    state,
    code_challenge: await deriveChallenge(verifier),
    code_challenge_method: 'S256',
    ...resourceFor(place),
  }
  for (const [name, value] of Object.entries(request)) to.searchParams.set(name, value)
  const saysIssuer = metadata.authorization_response_iss_parameter_supported === true
  const begun: Begun = { place, clientId, state, verifier, tokenEndpoint, saysIssuer }
  sessionStorage.setItem(BEGUN_KEY, JSON.stringify(begun))
  location.assign(to)
}

/** RFC 8707, where the token is to be for this service's own address. */
const resourceFor = ({ hasOwnAudience }: Place): Readonly<Record<string, string>> =>
  hasOwnAudience ? {} : { resource: signInFacts().resource }

/** What an answer without a code says. */
function endedWords(host: string, error: string | null): string {
  if (error === 'access_denied') return word('signInDenied')
  return error === null ? word('noCode', { host }) : word('signInEnded', { host, error })
}

async function redeem(answer: URLSearchParams): Promise<string> {
  const stored = sessionStorage.getItem(BEGUN_KEY)
  sessionStorage.removeItem(BEGUN_KEY)
  const begun: Begun | undefined = stored === null ? undefined : JSON.parse(stored)
  // Somebody else's answer must not sign this person in (RFC 9700 §4.7).
  if (begun === undefined || answer.get('state') !== begun.state)
    throw new SignInFailed(word('notBegunHere'))
  const { clientId, place, saysIssuer, tokenEndpoint, verifier } = begun
  const issuer = answer.get('iss')
  if (issuer === null ? saysIssuer : issuer !== place.issuer)
    throw new SignInFailed(word('otherIssuer'))
  const code = answer.get('code')
  if (code === null) throw new SignInFailed(endedWords(issuerHost(place), answer.get('error')))
  const { body } = await ask(place, tokenEndpoint, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: returnAddress(),
      client_id: clientId,
      code_verifier: verifier,
      ...resourceFor(place),
    }),
  })
  const { access_token: token, error } = body
  if (typeof token === 'string') return token
  const why = typeof error === 'string' ? error : '?'
  throw new SignInFailed(word('noToken', { host: issuerHost(place), error: why }))
}

const whyFailed = (error: unknown): string => {
  if (error instanceof SignInFailed) return error.message
  throw error
}

/** Goes to the issuer's page. Resolves to why it could not. */
export const beginSignIn = (place: Place, scopes: readonly string[]): Promise<string | undefined> =>
  leaveFor(place, scopes).then(() => undefined, whyFailed)

/** Takes an issuer's answer out of the address bar and its history entry, and redeems it. */
export async function finishSignIn(): Promise<SignInResult> {
  const answer = new URLSearchParams(location.search)
  if (!answer.has('state') || !(answer.has('code') || answer.has('error'))) return { kind: 'none' }
  history.replaceState(null, '', location.pathname + location.hash)
  return redeem(answer).then(
    (token) => ({ kind: 'token', token }),
    (error: unknown) => ({ kind: 'failed', why: whyFailed(error) }),
  )
}
