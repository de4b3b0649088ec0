/** The read log of a person: who read what and when, newest first, page by page, for a token that covers the person. */
import {
  element,
  fetchInTime,
  onFragment,
  pageElement,
  put,
  Unreachable,
} from '@tallystick/service-kit/browser'
import { READ_SCOPES } from '../../domain/scopes.ts'
import type { ReadShown, ReadsAnswer } from '../../wire/reads.ts'
import { parseRecordUri } from '../../wire/record-uri.ts'
import { elementText } from '../../wire/text-of-others.ts'
import { dayText } from './list-age.ts'
import { readKnownSlots } from './read-record.ts'
import { nameOfPrincipal, readSignIn, refusalWords, signInWords } from './sign-in.ts'
import { offerSignIn } from './sign-in-buttons.ts'

const WAYS: Readonly<Record<string, string>> = {
  'resources/read': 'read',
  'tools/call': 'by a tool',
  'prompts/get': 'by a prompt',
  'verify/export': 'exported',
}
const OUTCOMES = {
  served: '',
  not_found: ', in vain: there is no such record, or not for this reader',
  broken: ', in vain: what is stored does not hold',
}

const token = pageElement('token', HTMLInputElement)
const patient = pageElement('patient', HTMLInputElement)
const older = pageElement('older', HTMLButtonElement)

/** The topic, and the version if one was named; all of an audience for an export. */
function whatWords(uri: string): string {
  const read = parseRecordUri(uri)
  if (read === undefined)
    return uri.startsWith('care-internal:') ? 'all internal records' : 'all records'
  const internal = read.slot.audience === 'assistant' ? ', internal' : ''
  const version = read.version === undefined ? '' : `, version ${read.version}`
  return `${elementText(read.slot.domain)}${version}${internal}`
}

function row({ actor, at, label, outcome, uri, way }: ReadShown): HTMLElement {
  const when = new Date(at)
  return element(
    'tr',
    {},
    element('td', {}, element('time', { datetime: at }, when.toLocaleString())),
    element('td', { title: actor }, element('bdi', {}, nameOfPrincipal(label ?? actor))),
    element('td', {}, element('bdi', {}, whatWords(uri))),
    element('td', {}, `${WAYS[way] ?? way}${OUTCOMES[outcome]}`),
  )
}

/** An answer, or why there is none. */
async function ask(before: number | undefined): Promise<ReadsAnswer | string> {
  const query = new URLSearchParams({ patient: patient.value.trim() })
  if (before !== undefined) query.set('before', String(before))
  try {
    const headers = { authorization: `Bearer ${token.value.trim()}` }
    const answer = await fetchInTime(`/reads?${query.toString()}`, { headers })
    const body: ReadsAnswer & { error_description?: string } = await answer.json()
    if (answer.ok) return body
    if (answer.status === 401) return refusalWords(body.error_description ?? 'refused')
    if (answer.status === 403) return 'This token may not read the records of that person.'
    return `The service answered ${answer.status}.`
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
    return error.message
  }
}

function forget(words: string): void {
  put('as-of', words)
  put('reads-title', 'Reads')
  pageElement('rows').replaceChildren()
  for (const id of ['reads', 'older', 'not-recorded']) pageElement(id).hidden = true
}

let asked = 0
let next: number | undefined
/** Shows the newest page, or the one below what is shown. */
async function show(before?: number): Promise<void> {
  asked += 1
  const mine = asked
  if (before === undefined) forget('Asking…')
  const name = patient.value.trim()
  const answer = await ask(before)
  // Something newer was asked meanwhile.
  if (mine !== asked) return
  if (typeof answer === 'string') return put('as-of', answer)
  const { days, reads, recording } = answer
  const words = reads.length === 0 && before === undefined ? 'No read is recorded. ' : ''
  put('as-of', `${words}As of ${dayText(Date.now())}, for the last ${days} days.`)
  pageElement('reads-title').replaceChildren('Reads of ', element('bdi', {}, elementText(name)))
  pageElement('not-recorded').hidden = recording !== 'off'
  pageElement('rows').append(...reads.map(row))
  pageElement('reads').hidden = pageElement('rows').childElementCount === 0
  next = answer.next
  older.hidden = next === undefined
}

/** Another token, or none: what the last one showed goes. */
async function useToken(text: string): Promise<void> {
  token.value = text
  asked += 1
  forget('Nothing was asked yet.')
  pageElement('sign-out').hidden = text === ''
  const signIn = await readSignIn(text.trim())
  if (token.value !== text) return
  put('signed-in', signInWords(signIn).replace(/, to read only.*$/, '.'))
  const slots = await readKnownSlots(signIn.kind === 'signed-in' ? text.trim() : '')
  const names = new Set(slots.map((slot) => slot.patient))
  const options = [...names].sort().map((value) => element('option', { value }))
  pageElement('patients').replaceChildren(...options)
}

pageElement('ask', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault()
  if (token.value.trim() === '') return token.focus()
  if (patient.value.trim() === '') return patient.focus()
  void show()
})
token.addEventListener('input', () => void useToken(token.value))
older.addEventListener('click', () => void show(next))
pageElement('sign-out').addEventListener('click', () => void useToken(''))
onFragment((carried) => {
  patient.value = carried.get('patient') ?? patient.value
  void useToken(carried.get('token') ?? token.value)
})
void offerSignIn({ scopes: READ_SCOPES, onToken: (text) => void useToken(text) })
