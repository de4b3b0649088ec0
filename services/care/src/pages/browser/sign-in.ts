/** Who is signed in: what the page can tell of a token without its key. The service alone decides what it is worth. */
import type { ChainSlot } from '../../wire/record-uri.ts'

type SignedIn = {
  readonly token: string
  readonly sub: string
  readonly scopes: readonly string[]
  /** Unix milliseconds; undefined if the token does not say. */
  readonly expiresAtMs: number | undefined
}

function readSegment(segment = '') {
  const text = atob(segment.replaceAll('-', '+').replaceAll('_', '/'))
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0))
  return JSON.parse(new TextDecoder().decode(bytes))
}

/** The claims of a token, unverified; undefined for a text that is none. */
export function readSignIn(token: string): SignedIn | undefined {
  try {
    const [header, claims] = token.split('.')
    const { sub: own, scope, exp, iss } = readSegment(claims)
    if (typeof own !== 'string' || typeof scope !== 'string') return undefined
    const expiresAtMs = typeof exp === 'number' ? exp * 1_000 : undefined
    // A principal of another issuer bears its name (C23).
    const sub = readSegment(header).alg === 'HS256' ? own : `${iss}|${own}`
    return { token, sub, scopes: scope.split(' ').filter((one) => one !== ''), expiresAtMs }
  } catch {
    return undefined
  }
}

/** Whether a scope covers a patient: with or without that name behind it (C24). */
const covers = (scopes: readonly string[], scope: string, patient: string): boolean =>
  scopes.includes(scope) || scopes.includes(`${scope}:${encodeURIComponent(patient)}`)

const holds = (scopes: readonly string[], scope: string): boolean =>
  scopes.some((one) => one === scope || one.startsWith(`${scope}:`))

/** Whether the token may publish for somebody. */
export const mayPublish = (signedIn: SignedIn | undefined): signedIn is SignedIn =>
  signedIn !== undefined && holds(signedIn.scopes, 'care.write')

/** Whether what this token does not find is not there. */
export const mayReadSlot = (
  { scopes }: SignedIn,
  { audience, patient }: Pick<ChainSlot, 'audience' | 'patient'>,
): boolean => covers(scopes, `care.read.${audience}`, patient)

/** What the page says about the sign-in. */
export function signInWords(token: string, nowMs: number): string {
  if (token === '') return 'Not signed in.'
  const signedIn = readSignIn(token)
  if (signedIn === undefined) return 'This is not a token.'
  const { expiresAtMs, sub } = signedIn
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs)
    return `The token of ${sub} has expired: get a new one.`
  const until =
    expiresAtMs === undefined ? '' : ` until ${new Date(expiresAtMs).toLocaleTimeString()}`
  return mayPublish(signedIn)
    ? `Signed in as ${sub}${until}.`
    : `Signed in as ${sub}${until}, to read only: this token may not publish.`
}
