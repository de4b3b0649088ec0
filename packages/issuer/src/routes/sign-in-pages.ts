/** The pages of a sign-in: who are you, and may this program act for you. */
import { type Html, html, pageFrame, pagePolicy } from '@tallystick/service-kit/pages'

const SCOPE_WORDS: Readonly<Record<string, string>> = {
  'care.read.user': 'Read records that may be said aloud',
  'care.read.assistant': 'Read internal records, which are never said aloud',
  'care.write': 'Publish and correct records in your name',
}

/** A name that others chose, as a part of a sentence: nothing in it turns the text around it. */
const named = (text: string): string =>
  `\u2068${text.replaceAll(/[\p{Cc}\p{Bidi_Control}]/gu, '')}\u2069`

function decoded(patient: string): string {
  try {
    return decodeURIComponent(patient)
  } catch {
    return patient // an operator's slip: shown as it stands
  }
}

/** Says in words what a scope lets a program do. */
function scopeWords(scope: string): string {
  const [name = '', ...patient] = scope.split(':')
  const words = SCOPE_WORDS[name] ?? name
  return patient.length === 0 ? words : `${words}, of ${named(decoded(patient.join(':')))} alone`
}

const frame = (page: { readonly heading: string; readonly lead: string; readonly body: Html }) =>
  pageFrame({ title: 'Sign-in', brand: 'Tallystick sign-in', links: [], ...page }).toString()

const list = (items: readonly string[]) =>
  html`<ul>${items.map((scope) => html`<li>${scopeWords(scope)}</li>`)}</ul>`

/** The program that asks, named in its own words, and its address. */
export type AskingProgram = {
  readonly name: string
  /** Who gave the name. */
  readonly origin: string
  /** Where the browser goes afterwards. */
  readonly returnsTo: string
}

export function signInPage(page: {
  readonly uid: string
  readonly program: AskingProgram
  readonly hasPasswords: boolean
  readonly upstream: string | undefined
  readonly problem?: string | undefined
}): string {
  const { uid, upstream, problem } = page
  const passwords = html`<section><form method="post" action="/interaction/${uid}/login" class="card stack">
<div class="field"><label for="name">Name</label>
<input id="name" name="name" autocomplete="username" autocapitalize="none" spellcheck="false" required autofocus></div>
<div class="field"><label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required></div>
<button class="main" type="submit">Sign in</button>
</form></section>`
  return frame({
    heading: 'Sign in',
    lead: `${named(page.program.name)} asks to act for you. First say who you are.`,
    body: html`${problem !== undefined && html`<p class="note bad" role="alert">${problem}</p>`}
${page.hasPasswords && passwords}
${upstream !== undefined && html`<p><a class="button" href="/interaction/${uid}/upstream/begin">Sign in with ${upstream}</a></p>`}`,
  })
}

export function consentPage(page: {
  readonly uid: string
  readonly program: AskingProgram
  readonly label: string
  /** It gets these if the person allows it. */
  readonly scopes: readonly string[]
  /** It asked for these, and this person lacks them. */
  readonly refused: readonly string[]
}): string {
  const { uid, program, label, scopes, refused } = page
  const allowed =
    scopes.length > 0
      ? html`<p>It will be able to:</p>${list(scopes)}`
      : html`<p class="note warn">You have none of the rights that it asks for.</p>`
  return frame({
    heading: `Let ${named(program.name)} act for you?`,
    lead: `You are signed in as ${named(label)}.`,
    body: html`<section class="card stack">${scopes.length + refused.length > 0 ? allowed : html`<p>It will learn who you are.</p>`}
${refused.length > 0 && html`<p>It also asked for what you may not do yourself:</p>${list(refused)}`}
<p>Named by ${program.origin}. Afterwards your browser goes to <strong>${program.returnsTo}</strong>.</p>
<form method="post" action="/interaction/${uid}/consent" class="stack">
${(scopes.length > 0 || refused.length === 0) && html`<button class="main" name="choice" value="allow">Allow</button>`}
<button name="choice" value="deny">Deny</button>
</form>
<form method="post" action="/interaction/${uid}/consent" class="row">
<span>Not you?</span>
<button name="choice" value="other">Sign in as somebody else</button>
<button name="choice" value="sign-out">Sign out</button>
</form></section>`,
  })
}

/** A sign-in that cannot go on, with its reason. */
export const stoppedPage = (lead: string): string =>
  frame({ heading: 'This sign-in cannot go on', lead, body: html`` })

/** The policy of these pages: forms go to this server, and from there to the program's address. */
export function signInPolicy(redirectUri: string): string {
  const url = URL.parse(redirectUri)
  const isWeb = url !== null && (url.protocol === 'https:' || url.protocol === 'http:')
  const target = isWeb ? url.origin : (url?.protocol ?? '')
  return pagePolicy().replace("form-action 'none'", `form-action 'self' ${target}`)
}
