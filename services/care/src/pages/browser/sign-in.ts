/** Who is signed in: only the service knows what a token is worth, even if its issuer's claims grant the rights (C23). */
import { fetchInTime, Unreachable } from '@tallystick/service-kit/browser'
import { isWriter } from '../../domain/scopes.ts'
import type { PrincipalAnswer } from '../../wire/principal.ts'
import { elementText } from '../../wire/text-of-others.ts'
import { timeText, word } from './words.ts'

export type SignIn =
  | { readonly kind: 'none' }
  | { readonly kind: 'unreachable' }
  | { readonly kind: 'refused'; readonly why: string }
  | (PrincipalAnswer & { readonly kind: 'signed-in'; readonly token: string })

type SignedIn = Extract<SignIn, { kind: 'signed-in' }>

const REFUSAL_WORDS: Readonly<
  Record<
    string,
    | 'expired'
    | 'notYetValid'
    | 'revoked'
    | 'noScopes'
    | 'wrongAudience'
    | 'badSignature'
    | 'malformed'
  >
> = {
  expired: 'expired',
  not_yet_valid: 'notYetValid',
  revoked: 'revoked',
  no_scopes: 'noScopes',
  wrong_audience: 'wrongAudience',
  bad_signature: 'badSignature',
  malformed: 'malformed',
}

/** What a refusal of a token means to its holder. */
export function refusalWords(why: string): string {
  const name = REFUSAL_WORDS[why]
  return name === undefined ? word('refused', { why }) : word(name)
}

/** Asks the service whose token that is. */
export async function readSignIn(token: string): Promise<SignIn> {
  if (token === '') return { kind: 'none' }
  // No header can carry it.
  if (/[^\x21-\x7e]/.test(token)) return { kind: 'refused', why: 'malformed' }
  try {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetchInTime('/principal', { headers })
    const answered: PrincipalAnswer & { error_description?: string } = await answer.json()
    if (answer.ok) return { kind: 'signed-in', token, ...answered }
    const { error_description: why = 'refused' } = answered
    return answer.status === 401 ? { kind: 'refused', why } : { kind: 'unreachable' }
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
    return { kind: 'unreachable' }
  }
}

/** Whether the token may publish for somebody. */
export const mayPublish = (signIn: SignIn): signIn is SignedIn =>
  signIn.kind === 'signed-in' && isWriter(signIn.scopes)

/** A principal for a person: an issuer's is `iss|sub`, and only the latter says who it is. */
export const nameOfPrincipal = (sub: string): string => elementText(sub.slice(sub.indexOf('|') + 1))

/** What the page says about the sign-in; a page that only reads does not miss the right to publish. */
export function signInWords(signIn: SignIn, isReader = false): string {
  if (signIn.kind === 'none') return word('notSignedIn')
  if (signIn.kind === 'unreachable') return word('cannotJudge')
  if (signIn.kind === 'refused') return refusalWords(signIn.why)
  const parts = {
    name: signIn.label ?? nameOfPrincipal(signIn.sub),
    until: timeText(signIn.expiresAt),
  }
  return word(mayPublish(signIn) || isReader ? 'signedIn' : 'signedInReader', parts)
}
