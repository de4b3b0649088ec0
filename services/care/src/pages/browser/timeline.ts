/**
 * What became of one record: its versions, what each took back, and who read it. It asks the doors that assistants ask, with the
 * reader's own token, so it shows what that token may read, and is itself a read.
 */
import {
  element,
  fetchInTime,
  onFragment,
  pageElement,
  put,
  Unreachable,
} from '@tallystick/service-kit/browser'
import { READ_SCOPES } from '../../domain/scopes.ts'
import type { ReadsAnswer } from '../../wire/reads.ts'
import { type ChainSlot, chainUri, versionUri } from '../../wire/record-uri.ts'
import { elementText } from '../../wire/text-of-others.ts'
import type { UnheardAnswer } from '../../wire/unheard.ts'
import { AGE_MS, refreshAges } from './age-line.ts'
import { McpError, openMcpSession, SessionLost, TokenRefused } from './mcp-session.ts'
import { failureWords, readKnownSlots, readRecord } from './read-record.ts'
import { readSignIn, refusalWords, signInWords } from './sign-in.ts'
import { offerSignIn } from './sign-in-buttons.ts'
import { heardVersions, showTimeline, type VersionRead } from './timeline-view.ts'
import { carriedTime, clinicTime, word } from './words.ts'

/** Versions on the page: as many reads as one look makes. */
const VERSIONS_MAX = 20

const token = pageElement('token', HTMLInputElement)
const patient = pageElement('patient', HTMLInputElement)
const domain = pageElement('domain', HTMLInputElement)

/** The chain's newest versions, newest first; none where there is no such record, or not for this token. */
async function readVersions(names: Omit<ChainSlot, 'audience'>) {
  const session = await openMcpSession({ url: '/mcp', token: token.value.trim() })
  try {
    for (const audience of ['user', 'assistant'] as const) {
      const slot = { ...names, audience }
      const newest = await readRecord(session, chainUri(slot))
      if (newest.kind === 'absent') continue
      if (newest.kind === 'broken') return { slot, versions: [newest] }
      const versions: VersionRead[] = [newest]
      const { version: last } = newest.record
      for (let version = last - 1; version > Math.max(0, last - VERSIONS_MAX); version -= 1) {
        const older = await readRecord(session, versionUri(slot, version))
        versions.push(older.kind === 'found' ? older : { kind: older.kind, version })
      }
      return { slot, versions }
    }
    return undefined
  } finally {
    session.end()
  }
}

/** The same, or why it was not read. */
async function readInWords(names: Omit<ChainSlot, 'audience'>) {
  try {
    return (await readVersions(names)) ?? word('none')
  } catch (error) {
    if (error instanceof TokenRefused) return refusalWords(error.message)
    if (error instanceof McpError) return failureWords(error)
    if (error instanceof Unreachable || error instanceof SessionLost) return word('noAnswer')
    throw error
  }
}

/** An answer for this token; undefined if there is none. */
async function ask<Answer>(path: string): Promise<Answer | undefined> {
  try {
    const headers = { authorization: `Bearer ${token.value.trim()}` }
    const answer = await fetchInTime(path, { headers })
    return answer.ok ? ((await answer.json()) as Answer) : undefined
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
    return undefined
  }
}

/** Who heard, as far as the service tells it. */
async function readHearing(slot: ChainSlot) {
  const query = new URLSearchParams({ patient: slot.patient })
  const [reads, unheard] = await Promise.all([
    ask<ReadsAnswer>(`/reads?${query.toString()}`),
    ask<UnheardAnswer>('/unheard'),
  ])
  const waiting = unheard?.corrections.find(({ uri }) => uri === chainUri(slot))
  const words = [
    ...(reads === undefined ? [word('readsUnknown')] : []),
    ...(reads?.recording === 'off' ? [word('notRecorded')] : []),
    ...(waiting === undefined ? [] : [word('unheard', { time: clinicTime(waiting.since) })]),
  ]
  return { words, heard: heardVersions(reads?.reads ?? [], slot) }
}

function forget(words: string): void {
  put('as-of', words)
  put('timeline-title', word('versions'))
  put('older', '')
  pageElement('timeline').replaceChildren()
  pageElement('hearing').hidden = true
}

let lastAsk = 0
async function show(): Promise<void> {
  lastAsk += 1
  const mine = lastAsk
  forget(word('asking'))
  const read = await readInWords({ patient: patient.value.trim(), domain: domain.value.trim() })
  if (typeof read === 'string') {
    if (mine === lastAsk) put('as-of', read)
    return
  }
  const hearing = await readHearing(read.slot)
  // Something newer was asked meanwhile.
  if (mine !== lastAsk) return
  put('as-of', word('asOf', { time: carriedTime(Date.now()) }))
  const names = [read.slot.domain, read.slot.patient].flatMap((name) => [
    ' · ',
    element('bdi', {}, elementText(name)),
  ])
  pageElement('timeline-title').replaceChildren(word('versions'), ...names)
  put('hearing', hearing.words.join(' '))
  pageElement('hearing').hidden = hearing.words.length === 0
  const first = showTimeline(read.versions, hearing.heard)
  put('older', first > 1 ? word('older', { version: first }) : '')
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
  for (const name of ['patient', 'domain'] as const) {
    const names = [...new Set(slots.map((slot) => slot[name]))].sort()
    const options = names.map((value) => element('option', { value }))
    pageElement(`${name}s`).replaceChildren(...options)
  }
}

pageElement('ask', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault()
  const missing = [token, patient, domain].find((field) => field.value.trim() === '')
  if (missing !== undefined) return missing.focus()
  void show()
})
token.addEventListener('input', () => void useToken(token.value))
pageElement('sign-out').addEventListener('click', () => void useToken(''))
onFragment((carried) => {
  patient.value = carried.get('patient') ?? patient.value
  domain.value = carried.get('domain') ?? domain.value
  void useToken(carried.get('token') ?? token.value)
})
setInterval(refreshAges, AGE_MS)
void offerSignIn({ scopes: READ_SCOPES, onToken: (text) => void useToken(text) })
