/**
 * The clinician's page: checks the form, sends it under a token or signed with the write secret, and shows who heard it. Token
 * and secret stay in their fields.
 */
import { element, onFragment, pageElement, pageFact, put } from '@tallystick/service-kit/browser'
import { isWithdrawal } from '../../domain/retraction.ts'
import { CARE_SCOPES, mayRead } from '../../domain/scopes.ts'
import { languageAttributes } from '../../wire/language-tag.ts'
import type { Withdrawal } from '../../wire/records.ts'
import { WRITE_KNOWN_MS } from '../../wire/write-limits.ts'
import { AGE_MS, refreshAges } from './age-line.ts'
import { showOutcome, showPreview } from './clinician-view.ts'
import { type Before, createRecordReader, readKnownSlots } from './read-record.ts'
import { mayPublish, readSignIn, type SignIn, signInWords } from './sign-in.ts'
import { offerSignIn } from './sign-in-buttons.ts'
import { showUnheard } from './unheard-list.ts'
import { word } from './words.ts'
import {
  alikeQuestion,
  canSign,
  checkFields,
  clockAheadSeconds,
  FIELD_NAMES,
  type Problems,
  type ReadyWrite,
  sendWrite,
  signWrite,
  type WriteFields,
} from './write-record.ts'

/** A write is sent again unchanged within this time: ten seconds before the service would no longer know it. */
const SAME_AGAIN_MS = WRITE_KNOWN_MS - 10_000
/** How long typing must pause before the stored record is read. */
const TYPING_PAUSE_MS = 300

const SHOWN_NAMES = [...FIELD_NAMES, 'secret'] as const

const form = pageElement('write', HTMLFormElement)
const sentence = pageElement('value', HTMLTextAreaElement)
const send = pageElement('send', HTMLButtonElement)
const secret = pageElement('secret', HTMLInputElement)
const readToken = pageElement('read-token', HTMLInputElement)
const reader = createRecordReader()
const unheard = showUnheard(() => readToken.value.trim())
const language = pageElement('language', HTMLSelectElement)
/** Of records whose writer names none. */
const serviceLanguage = pageFact('language')
let isLanguageChosen = false
let before: Before = { kind: 'unknown' }
let isSending = false

const text = (typed: FormDataEntryValue | null): string => (typeof typed === 'string' ? typed : '')

function typedFields(): WriteFields {
  const data = new FormData(form)
  const typed = Object.fromEntries(FIELD_NAMES.map((name) => [name, text(data.get(name))]))
  const staleAfter = pageElement('staleAfter', HTMLInputElement)
  return {
    ...(typed as WriteFields),
    // Form data ends lines with CRLF; the sentence is exactly the field's text.
    value: sentence.value,
    // A half-typed date reads as empty.
    staleAfter: staleAfter.validity.badInput ? 'half typed' : staleAfter.value,
  }
}

const findField = (name: string): HTMLElement | null => form.querySelector(`[name="${name}"]`)

/** A field loses its red mark as soon as it is corrected, not at the next attempt. */
function clearMended(name: string | null): void {
  const shown = SHOWN_NAMES.find((known) => known === name)
  if (shown === undefined || !findField(shown)?.hasAttribute('aria-invalid')) return
  const check = checkFields(typedFields(), Date.now())
  const problems: Problems = check.kind === 'refused' ? check.problems : {}
  const isOpen = shown === 'secret' ? secret.value === '' : problems[shown] !== undefined
  if (isOpen) return
  put(`${shown}-problem`, '')
  findField(shown)?.removeAttribute('aria-invalid')
}

function showProblems(problems: Problems): void {
  for (const name of SHOWN_NAMES) {
    put(`${name}-problem`, problems[name] ?? '')
    if (problems[name] === undefined) findField(name)?.removeAttribute('aria-invalid')
    else findField(name)?.setAttribute('aria-invalid', 'true')
  }
  const first = SHOWN_NAMES.find((name) => problems[name] !== undefined)
  if (first === undefined) return
  const folded = findField(first)?.closest('details')
  if (folded) folded.open = true
  findField(first)?.focus()
}

function showDraft(): void {
  const { value, audience, authorLabel, authorId } = typedFields()
  const spoken = language.value || serviceLanguage || undefined
  const { lang, dir } = languageAttributes(spoken)
  Object.assign(sentence, { lang, dir })
  showPreview({ value, audience, authorLabel: authorLabel || authorId, language: spoken, before })
}

/** A correction is in the language of what it corrects, unless somebody chooses another one. */
function suggestLanguage(): void {
  if (isLanguageChosen) return
  const tag = (before.kind === 'found' && before.record.language) || ''
  if (![...language.options].some(({ value }) => value === tag))
    language.append(element('option', { value: tag }, tag))
  language.value = tag
}

let lastRead = 0
async function readBefore(): Promise<void> {
  lastRead += 1
  const mine = lastRead
  void unheard.ask()
  const found = await reader.read(readToken.value.trim(), typedFields())
  // An answer that arrives after a newer question is about something else.
  if (mine !== lastRead) return
  before = found
  suggestLanguage()
  showDraft()
}

/** Whether sending it again cannot store it twice. */
const isSafeAgain = ({ body, by }: ReadyWrite): boolean =>
  'token' in by
    ? JSON.parse(body).expectedVersion !== undefined
    : Date.now() - Date.parse(by.timestamp) < SAME_AGAIN_MS

async function deliver(ready: ReadyWrite): Promise<void> {
  setSending(true)
  const outcome = await sendWrite(ready)
  const isSigned = !('token' in ready.by)
  const aheadSeconds =
    outcome.kind === 'refused' && isSigned ? await clockAheadSeconds() : undefined
  setSending(false)
  const isUnsure = outcome.kind === 'no-answer' || outcome.kind === 'failed'
  showOutcome({
    outcome,
    isSigned,
    aheadSeconds,
    sendAgain: isUnsure && isSafeAgain(ready) ? () => void deliver(ready) : undefined,
  })
  // The stored record changed meanwhile: it is read and shown again, and the sentence stays.
  if (outcome.kind === 'outrun' || outcome.kind === 'erased') void readBefore()
  if (outcome.kind !== 'accepted') return
  isLanguageChosen = false
  // What was typed meanwhile is the next sentence.
  const sent = JSON.parse(ready.body)
  if (sent.status === undefined && sentence.value === sent.value) sentence.value = ''
  void readBefore()
  void suggestNames()
}

function setSending(sending: boolean): void {
  isSending = sending
  put('send', word(sending ? 'publishing' : 'publish'))
  send.setAttribute('aria-disabled', String(sending))
}

/** The version that the writer has seen, as far as the page knows; 0 for none. */
function expectedVersion(signIn: SignIn): number | undefined {
  const { audience, patient } = typedFields()
  if (before.kind === 'found')
    return before.slot.audience === audience ? before.record.version : undefined
  const slot = { patient, audience: audience === 'assistant' ? audience : 'user' } as const
  const isNone = before.kind === 'none' && signIn.kind === 'signed-in'
  return isNone && mayRead(signIn.scopes, slot) ? 0 : undefined
}

/** Publishes the form, or withdraws the record that it names. */
async function submit(status: Withdrawal | undefined): Promise<void> {
  if (isSending) return
  isSending = true
  if ((await signingIn).kind === 'unreachable') void showSignIn()
  const signIn = await signingIn
  isSending = false
  const isBearer = mayPublish(signIn)
  const act = { expectedVersion: expectedVersion(signIn), status }
  const check = checkFields(typedFields(), Date.now(), act)
  // The outcome of an earlier write must not stay beside this one.
  pageElement('outcome').hidden = true
  showProblems({
    ...(check.kind === 'refused' ? check.problems : {}),
    ...(isBearer || secret.value !== '' ? {} : { secret: word('noSender') }),
  })
  if (check.kind === 'refused' || (!isBearer && secret.value === '')) return
  // From here on, pressing the button again does not write twice.
  setSending(true)
  const question = status === undefined ? alikeQuestion(typedFields(), knownSlots) : undefined
  if (question !== undefined && question.text !== askedQuestion) {
    // Pressed again, the button publishes it.
    askedQuestion = question.text
    showProblems({ [question.field]: question.text })
    return
  }
  const { body } = check
  if (isBearer) return deliver({ body, by: { token: signIn.token } })
  const timestamp = new Date().toISOString()
  const signature = await signWrite({ secret: secret.value, body, timestamp })
  await deliver({ body, by: { timestamp, signature } })
}

/** The id that was filled in for the writer, so that another sign-in may replace it. */
let filledId = ''
let signingIn: Promise<SignIn> = Promise.resolve({ kind: 'none' })
/** Shows who is signed in, and fills in their id. */
async function showSignIn(): Promise<void> {
  const typed = readSignIn(readToken.value.trim())
  signingIn = typed
  const signIn = await typed
  // Another token was typed meanwhile.
  if (typed !== signingIn) return
  put('signed-in', signInWords(signIn))
  pageElement('sign-out').hidden = readToken.value === ''
  const isBearer = mayPublish(signIn)
  pageElement('with-secret').hidden = isBearer
  const authorId = pageElement('authorId', HTMLInputElement)
  if (isBearer && (authorId.value === '' || authorId.value === filledId)) {
    filledId = signIn.sub
    authorId.value = filledId
    clearMended('authorId')
  }
  if (isBearer) clearMended('secret')
  showLabel(isBearer ? signIn.label : undefined)
  void suggestNames()
  // Only a signature needs WebCrypto.
  pageElement('cannot-sign').hidden = canSign() || isBearer
  send.disabled = !canSign() && !isBearer
}

/** The name that the service shows for the writer, where it is not for the writer to say (C46). */
let givenLabel: string | undefined
function showLabel(label: string | undefined): void {
  const authorLabel = pageElement('authorLabel', HTMLInputElement)
  if (label !== givenLabel) authorLabel.value = label ?? ''
  givenLabel = label
  authorLabel.readOnly = label !== undefined
  // No other id would be taken with it.
  pageElement('with-id').hidden = label !== undefined
  clearMended('authorLabel')
  showDraft()
}

let knownSlots: Awaited<ReturnType<typeof readKnownSlots>> = []
let askedQuestion: string | undefined

/** Offers the names that the page's token may know, or anybody where they are public. */
async function suggestNames(): Promise<void> {
  const slots = await readKnownSlots(
    (await signingIn).kind === 'signed-in' ? readToken.value.trim() : '',
  )
  knownSlots = slots
  for (const name of ['patient', 'domain'] as const) {
    const names = new Set(slots.map((slot) => slot[name]))
    const options = [...names].sort().map((value) => element('option', { value }))
    pageElement(`${name}s`).replaceChildren(...options)
  }
}

let typing: ReturnType<typeof setTimeout> | undefined
function readSoon(): void {
  clearTimeout(typing)
  typing = setTimeout(() => void readBefore(), TYPING_PAUSE_MS)
}

form.addEventListener('submit', (event) => {
  event.preventDefault()
  const act = event.submitter?.getAttribute('value') ?? ''
  void submit(isWithdrawal(act) ? act : undefined)
})
form.addEventListener('input', ({ target }) => {
  const name = target instanceof Element ? target.getAttribute('name') : null
  if (name === 'language') isLanguageChosen = true
  showDraft()
  clearMended(name)
  if (name === 'patient' || name === 'domain') readSoon()
})
form.addEventListener('keydown', ({ key, ctrlKey, metaKey }) => {
  if (key === 'Enter' && (ctrlKey || metaKey)) send.click()
})
readToken.addEventListener('input', () => {
  void showSignIn()
  readSoon()
})
// A separate form: Enter in this field reads, it does not publish.
pageElement('read', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault()
  readSoon()
})
/** Another token, or none: who is signed in, and what that token may read. */
function useToken(token: string): void {
  readToken.value = token
  void showSignIn()
  void readBefore()
}
pageElement('sign-out').addEventListener('click', () => {
  reader.end()
  useToken('')
})
addEventListener('pagehide', () => reader.end())
// The page may stay open over midnight.
setInterval(refreshAges, AGE_MS)
onFragment((carried) => {
  secret.value = carried.get('secret') ?? secret.value
  for (const name of ['patient', 'domain', 'authorId', 'authorLabel']) {
    const carriedValue = carried.get(name)
    if (carriedValue !== null) pageElement(name, HTMLInputElement).value = carriedValue
  }
  useToken(carried.get('token') ?? readToken.value)
})
void offerSignIn({ scopes: CARE_SCOPES, onToken: useToken })
