/** The clinician's page: checks the form, signs in the browser, sends, and shows who heard it. The secret stays in its field. */
import { element, onFragment, pageElement, put } from '@tallystick/service-kit/browser'
import { showOutcome, showPreview } from './clinician-view.ts'
import { type Before, createRecordReader, readPublicSlots } from './read-record.ts'
import {
  canSign,
  checkFields,
  clockAheadSeconds,
  FIELD_NAMES,
  type Problems,
  type SignedWrite,
  sendWrite,
  signWrite,
  type WriteFields,
} from './write-record.ts'

/** The service recognises a signed write sent again within this time; slightly less than its 300 s. */
const SAME_AGAIN_MS = 290_000
/** How long typing must pause before the stored record is read. */
const TYPING_PAUSE_MS = 300

const SHOWN_NAMES = [...FIELD_NAMES, 'secret'] as const

const form = pageElement('write', HTMLFormElement)
const sentence = pageElement('value', HTMLTextAreaElement)
const send = pageElement('send', HTMLButtonElement)
const secret = pageElement('secret', HTMLInputElement)
const readToken = pageElement('read-token', HTMLInputElement)
const reader = createRecordReader()
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

const fieldOf = (name: string): HTMLElement | null => form.querySelector(`[name="${name}"]`)

function showProblems(problems: Problems): void {
  for (const name of SHOWN_NAMES) {
    put(`${name}-problem`, problems[name] ?? '')
    if (problems[name] === undefined) fieldOf(name)?.removeAttribute('aria-invalid')
    else fieldOf(name)?.setAttribute('aria-invalid', 'true')
  }
  const first = SHOWN_NAMES.find((name) => problems[name] !== undefined)
  if (first === undefined) return
  const folded = fieldOf(first)?.closest('details')
  if (folded) folded.open = true
  fieldOf(first)?.focus()
}

function showDraft(): void {
  const { value, audience, authorLabel, authorId } = typedFields()
  showPreview({ value, audience, authorLabel: authorLabel || authorId, before })
}

let lastRead = 0
async function readBefore(): Promise<void> {
  lastRead += 1
  const mine = lastRead
  const found = await reader.read(readToken.value.trim(), typedFields())
  // An answer that arrives after a newer question is about something else.
  if (mine !== lastRead) return
  before = found
  showDraft()
}

async function deliver(signed: SignedWrite): Promise<void> {
  setSending(true)
  const outcome = await sendWrite(signed)
  const aheadSeconds = outcome.kind === 'refused' ? await clockAheadSeconds() : undefined
  setSending(false)
  const isUnsure = outcome.kind === 'no-answer' || outcome.kind === 'failed'
  const isYoung = Date.now() - Date.parse(signed.timestamp) < SAME_AGAIN_MS
  showOutcome({
    outcome,
    aheadSeconds,
    sendAgain: isUnsure && isYoung ? () => void deliver(signed) : undefined,
  })
  if (outcome.kind !== 'accepted') return
  // What was typed meanwhile is the next sentence.
  if (sentence.value === JSON.parse(signed.body).value) sentence.value = ''
  void readBefore()
  void suggestNames()
}

function setSending(sending: boolean): void {
  isSending = sending
  put('send', sending ? 'Publishing…' : 'Sign and publish')
  send.setAttribute('aria-disabled', String(sending))
}

async function submit(): Promise<void> {
  if (isSending) return
  const check = checkFields(typedFields(), Date.now())
  // The outcome of an earlier write must not stay beside this one.
  pageElement('outcome').hidden = true
  showProblems({
    ...(check.kind === 'refused' ? check.problems : {}),
    ...(secret.value === '' ? { secret: 'Paste the write secret.' } : {}),
  })
  if (check.kind === 'refused' || secret.value === '') return
  // From here on, pressing the button again does not write twice.
  setSending(true)
  const timestamp = new Date().toISOString()
  await deliver(await signWrite({ secret: secret.value, body: check.body, timestamp }))
}

/** Offers the names of public chains, which are public already. */
async function suggestNames(): Promise<void> {
  const slots = await readPublicSlots()
  for (const name of ['patient', 'domain'] as const) {
    const names = new Set(slots.map((slot) => slot[name]))
    const options = [...names].toSorted().map((value) => element('option', { value }))
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
  void submit()
})
form.addEventListener('input', ({ target }) => {
  showDraft()
  const name = target instanceof Element ? target.getAttribute('name') : null
  if (name === 'patient' || name === 'domain') readSoon()
})
form.addEventListener('keydown', ({ key, ctrlKey, metaKey }) => {
  if (key === 'Enter' && (ctrlKey || metaKey)) form.requestSubmit()
})
readToken.addEventListener('input', readSoon)
// A separate form: Enter in this field reads, it does not publish.
pageElement('read', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault()
  readSoon()
})
addEventListener('pagehide', () => reader.end())
onFragment((carried) => {
  secret.value = carried.get('secret') ?? secret.value
  readToken.value = carried.get('token') ?? readToken.value
  for (const name of ['patient', 'domain', 'authorId', 'authorLabel']) {
    const given = carried.get(name)
    if (given !== null) pageElement(name, HTMLInputElement).value = given
  }
  void readBefore()
})
if (!canSign()) {
  pageElement('cannot-sign').hidden = false
  send.disabled = true
}
void suggestNames()
