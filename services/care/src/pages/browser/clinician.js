/** The clinician's page: checks the form, signs in the browser, sends, and shows who heard it. The secret stays in its field. */
import { createRecordReader, readPublicSlots } from './clinician-preview.js'
import { showOutcome, showPreview } from './clinician-view.js'
import { element, pageElement } from './page-element.js'
import { clockAheadSeconds, sendWrite } from './send-write.js'
import { canSign, signWrite } from './sign-write.js'
import { onFragment } from './take-fragment.js'
import { checkFields } from './write-fields.js'

/** @typedef {import('./write-fields.js').WriteFields} WriteFields */
/** @typedef {import('./write-fields.js').Problems} Problems */
/** @typedef {import('./sign-write.js').SignedWrite} SignedWrite */

/** A signed write that is sent again within this time is known again by the service; a little less than its 300 s. */
const SAME_AGAIN_MS = 290_000
/** How long typing rests before what is stored is read. */
const TYPING_PAUSE_MS = 300

const FIELD_NAMES = /** @type {const} */ ([
  'patient',
  'domain',
  'value',
  'audience',
  'staleAfter',
  'priority',
  'authorId',
  'authorLabel',
  'secret',
])

const form = pageElement('write', HTMLFormElement)
const send = pageElement('send', HTMLButtonElement)
const secret = pageElement('secret', HTMLInputElement)
const readToken = pageElement('read-token', HTMLInputElement)
const reader = createRecordReader()
/** @type {import('./clinician-preview.js').Before} */
let before = { kind: 'unknown' }
let isSending = false

/** @returns {WriteFields} */
function typedFields() {
  const data = new FormData(form)
  const text = (/** @type {string} */ name) => {
    const typed = data.get(name)
    return typeof typed === 'string' ? typed : ''
  }
  const staleAfter = pageElement('staleAfter', HTMLInputElement)
  return {
    patient: text('patient'),
    domain: text('domain'),
    // Form data ends lines with CRLF; the sentence is what stands in the field.
    value: pageElement('value', HTMLTextAreaElement).value,
    audience: text('audience'),
    authorId: text('authorId'),
    authorLabel: text('authorLabel'),
    // A date that is half typed reads as none.
    staleAfter: staleAfter.validity.badInput ? 'half typed' : staleAfter.value,
    priority: text('priority'),
  }
}

/** @param {Problems} problems */
function showProblems(problems) {
  for (const name of FIELD_NAMES) {
    const text = problems[name] ?? ''
    pageElement(`${name}-problem`, HTMLElement).textContent = text
    const field = form.querySelector(`[name="${name}"]`)
    if (text === '') field?.removeAttribute('aria-invalid')
    else field?.setAttribute('aria-invalid', 'true')
  }
  const first = FIELD_NAMES.find((name) => problems[name] !== undefined)
  if (first === undefined) return
  const field = form.querySelector(`[name="${first}"]`)
  const folded = field?.closest('details')
  if (folded) folded.open = true
  if (field instanceof HTMLElement) field.focus()
}

const showDraft = () => {
  const { value, audience, authorLabel, authorId } = typedFields()
  showPreview({ value, audience, authorLabel: authorLabel || authorId, before })
}

let lastRead = 0
async function readBefore() {
  const { patient, domain } = typedFields()
  lastRead += 1
  const mine = lastRead
  const token = patient === '' || domain === '' ? '' : readToken.value.trim()
  const found = await reader.read({ token, patient, domain })
  // An answer that came after a newer question is about something else.
  if (mine !== lastRead) return
  before = found
  showDraft()
}

/** @param {SignedWrite} signed */
async function deliver(signed) {
  setSending(true)
  const outcome = await sendWrite(signed)
  const aheadSeconds = outcome.kind === 'refused' ? await clockAheadSeconds(Date.now) : undefined
  setSending(false)
  const isUnsure = outcome.kind === 'no-answer' || outcome.kind === 'failed'
  const isYoung = Date.now() - Date.parse(signed.timestamp) < SAME_AGAIN_MS
  showOutcome({
    outcome,
    aheadSeconds,
    sendAgain: isUnsure && isYoung ? () => void deliver(signed) : undefined,
  })
  if (outcome.kind !== 'accepted') return
  const sentence = pageElement('value', HTMLTextAreaElement)
  // What was typed meanwhile is the next sentence.
  if (sentence.value === JSON.parse(signed.body).value) sentence.value = ''
  void readBefore()
  void suggestNames()
}

/** @param {boolean} sending */
function setSending(sending) {
  isSending = sending
  send.textContent = sending ? 'Publishing…' : 'Sign and publish'
  send.setAttribute('aria-disabled', String(sending))
}

async function submit() {
  if (isSending) return
  const check = checkFields(typedFields(), Date.now())
  const problems = check.kind === 'refused' ? check.problems : {}
  const secretProblem = secret.value === '' ? { secret: 'Paste the write secret.' } : {}
  // What came of an earlier write does not stand beside this one.
  pageElement('outcome', HTMLElement).hidden = true
  showProblems({ ...problems, ...secretProblem })
  if (check.kind === 'refused' || secret.value === '') return
  // From here on a second press of the button is not a second write.
  setSending(true)
  const timestamp = new Date().toISOString()
  await deliver(await signWrite({ secret: secret.value, body: check.body, timestamp }))
}

/** Offers the names of public chains, which are public already. */
async function suggestNames() {
  const slots = await readPublicSlots()
  for (const [id, name] of /** @type {const} */ ([
    ['patients', 'patient'],
    ['domains', 'domain'],
  ])) {
    const names = new Set(slots.map((slot) => slot[name]))
    const options = [...names].toSorted().map((value) => element('option', { value }))
    pageElement(id, HTMLElement).replaceChildren(...options)
  }
}

let typing = setTimeout(() => undefined, 0)
const readSoon = () => {
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
// A form of its own: Enter in this field reads, it does not publish.
pageElement('read', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault()
  readSoon()
})
addEventListener('pagehide', () => reader.end())
onFragment((carried) => {
  secret.value = carried.get('secret') ?? secret.value
  readToken.value = carried.get('token') ?? readToken.value
  for (const name of /** @type {const} */ (['patient', 'domain', 'authorId', 'authorLabel'])) {
    const given = carried.get(name)
    if (given !== null) pageElement(name, HTMLInputElement).value = given
  }
  void readBefore()
})
if (!canSign()) {
  pageElement('cannot-sign', HTMLElement).hidden = false
  send.disabled = true
}
void suggestNames()
