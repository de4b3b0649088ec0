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
import { readKnownSlots } from './read-record.ts'
import { nameOfPrincipal, readSignIn, refusalWords, signInWords } from './sign-in.ts'
import { offerSignIn } from './sign-in-buttons.ts'
import { carriedTime, clinicTime, countWord, word } from './words.ts'

const WAYS: Readonly<Record<string, string>> = {
  'resources/read': word('wayRead'),
  'tools/call': word('wayTool'),
  'prompts/get': word('wayPrompt'),
  'verify/export': word('wayExport'),
}

function howWords({ outcome, way: name }: ReadShown): string {
  const way = WAYS[name] ?? name
  if (outcome === 'served') return way
  return outcome === 'broken' ? word('broken', { way }) : word('notFound', { way })
}

const token = pageElement('token', HTMLInputElement)
const patient = pageElement('patient', HTMLInputElement)
const older = pageElement('older', HTMLButtonElement)

/** The topic, and the version if one was named; all of an audience for an export. */
function whatWords(uri: string): string {
  const read = parseRecordUri(uri)
  if (read === undefined) return word(uri.startsWith('care-internal:') ? 'allInternal' : 'all')
  const { slot, version } = read
  const domain = elementText(slot.domain)
  const what = version === undefined ? domain : word('versionOf', { domain, version })
  return slot.audience === 'assistant' ? word('internal', { what }) : what
}

function row(read: ReadShown): HTMLElement {
  const { actor, at, label, uri } = read
  return element(
    'tr',
    {},
    element('td', {}, element('time', { datetime: at }, clinicTime(at))),
    element('td', { title: actor }, element('bdi', {}, nameOfPrincipal(label ?? actor))),
    element('td', {}, element('bdi', {}, whatWords(uri))),
    element('td', {}, howWords(read)),
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
    if (answer.status === 403) return word('notAllowed')
    return word('answered', { status: answer.status })
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
    return word('noAnswer')
  }
}

function forget(words: string): void {
  put('as-of', words)
  put('reads-title', word('readsTitle'))
  pageElement('rows').replaceChildren()
  for (const id of ['reads', 'older', 'not-recorded']) pageElement(id).hidden = true
}

let lastAsk = 0
let next: number | undefined
/** Shows the newest page, or the one below what is shown. */
async function show(before?: number): Promise<void> {
  lastAsk += 1
  const mine = lastAsk
  if (before === undefined) forget(word('asking'))
  const name = patient.value.trim()
  const answer = await ask(before)
  // Something newer was asked meanwhile.
  if (mine !== lastAsk) return
  if (typeof answer === 'string') return put('as-of', answer)
  const { days, reads, recording } = answer
  const words = reads.length === 0 && before === undefined ? `${word('none')} ` : ''
  put('as-of', words + countWord('asOfDays', days, { date: carriedTime(Date.now()) }))
  pageElement('reads-title').replaceChildren(
    `${word('readsOf')} `,
    element('bdi', {}, elementText(name)),
  )
  pageElement('not-recorded').hidden = recording !== 'off'
  pageElement('rows').append(...reads.map(row))
  pageElement('reads').hidden = pageElement('rows').childElementCount === 0
  next = answer.next
  older.hidden = next === undefined
}

/** Another token, or none: what the last one showed goes. */
async function useToken(text: string): Promise<void> {
  token.value = text
  lastAsk += 1
  forget(word('nothingAsked'))
  pageElement('sign-out').hidden = text === ''
  const signIn = await readSignIn(text.trim())
  if (token.value !== text) return
  put('signed-in', signInWords(signIn, true))
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
