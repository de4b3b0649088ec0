/** The echo page: the assistant's side of a correction. It takes a token, listens over MCP, shows, announces and speaks. */
import { onFragment, pageElement, put } from '@tallystick/service-kit/browser'
import { AGE_MS, refreshAges } from './age-line.ts'
import {
  announce,
  announceGone,
  clearRecords,
  removeRecord,
  showOnPaper,
  showRecord,
} from './echo-view.ts'
import { followRecords, type RecordChange } from './follow-records.ts'
import { Listener, type ListeningState } from './keep-listening.ts'
import { listAge } from './list-age.ts'
import type { McpSession } from './mcp-session.ts'
import { failureWords, readSpeech, type ShownRecord } from './read-record.ts'
import { refusalWords } from './sign-in.ts'
import { offerSignIn } from './sign-in-buttons.ts'
import { createSpeaker } from './speaker.ts'
import { countWord, word } from './words.ts'

/** Ages and staleness change without a write, so everything is read again this often. */
const REFRESH_MS = 300_000

const form = pageElement('listen', HTMLFormElement)
const tokenField = pageElement('token', HTMLInputElement)
const stopListening = pageElement('stop-listening', HTMLButtonElement)
const state = pageElement('state')
const cards = pageElement('records')
const latest = pageElement('latest')
const again = pageElement('again', HTMLButtonElement)
const sound = pageElement('sound', HTMLInputElement)

const VOICE_WORDS = {
  silent: { voice: '', button: word('sayAgain') },
  speaking: { voice: word('speaking'), button: word('stop') },
  blocked: { voice: word('heldBack'), button: word('playSentence') },
  muted: { voice: word('soundOff'), button: word('sayAgain') },
  voiceless: { voice: '', button: word('sayAgain') },
}

const speaker = createSpeaker(pageElement('audio', HTMLAudioElement), (kind) => {
  latest.dataset['voice'] = kind
  put('voice', VOICE_WORDS[kind].voice)
  put('again', VOICE_WORDS[kind].button)
  again.disabled = kind === 'voiceless'
  again.classList.toggle('main', kind === 'blocked')
})

/** The version of each record to be said: it may be superseded while its sound is on the way. */
const toSay = new Map<string, number>()

async function speak(session: McpSession, { uri, version }: ShownRecord): Promise<void> {
  toSay.set(uri, version)
  const speech = await readSpeech(session, { uri, version })
  if (toSay.get(uri) !== version) return
  if (speech !== undefined) return speaker.say({ uri, sound: speech })
  speaker.forget()
  put('voice', word('noVoice'))
}

function show(change: RecordChange, session: McpSession): void {
  if (change.kind === 'broken' || change.kind === 'gone') {
    toSay.delete(change.uri)
    speaker.retract(change.uri)
    speaker.forget()
    removeRecord(change.uri)
    return announceGone(change)
  }
  const { record } = change
  if (change.kind === 'first' || change.kind === 'refreshed') return showRecord(record, false)
  if (change.kind === 'withdrawn') removeRecord(record.uri)
  else showRecord(record, true)
  speaker.retract(record.uri)
  announce(change)
  // A confirmed sentence has already been said. If the voice fails, the text remains, which is what counts.
  if (change.kind === 'confirmed') speaker.forget()
  else speak(session, record).catch(() => speaker.forget())
}

function stateWords(now: ListeningState): string {
  if (now.kind === 'failed') return word('failed', now)
  if (now.kind === 'refused') return word('tokenRefused')
  if (now.kind === 'waiting' && now.error !== undefined)
    return word('waitingWhy', { why: failureWords(now.error) })
  return word(now.kind)
}

/** When the service was heard last with everything read. */
let heardMs: number | undefined
const isLive = (): boolean => ['live', 'silent'].includes(state.dataset['state'] ?? '')

/** Says how old the list is, and that the service is silent although nothing has broken (C39). */
function showAge(): void {
  const { isFresh, onPaper, title, words } = listAge({
    heardMs,
    nowMs: Date.now(),
    isLive: isLive(),
  })
  put('records-title', title)
  put('as-of', words)
  showOnPaper(onPaper)
  refreshAges()
  pageElement('count').hidden = !isFresh
  cards.classList.toggle('aged', !isFresh)
  if (!isLive()) return
  const kind = isFresh ? 'live' : 'silent'
  state.dataset['state'] = kind
  put('state', word(kind))
}

function noteHeard(): void {
  if (!isLive()) return
  heardMs = Date.now()
  showAge()
}

function showState(now: ListeningState): void {
  state.dataset['state'] = now.kind
  put('state', stateWords(now))
  if (now.kind === 'live') noteHeard()
  else showAge()
}

let listening: { readonly token: string; readonly listener: Listener; refresh(): void } | undefined

function start(token: string): void {
  stop()
  // Late answers of an ended session are no longer shown.
  const isCurrent = (): boolean => listening?.listener === listener
  const records = followRecords({
    onChange: (change, current) => isCurrent() && show(change, current),
    onList({ count, isCut }) {
      const followed = isCut ? word('followedCut', { count }) : countWord('followed', count)
      if (isCurrent()) put('count', followed)
    },
  })
  let session: McpSession | undefined
  const onState = (now: ListeningState): void => {
    if (!isCurrent()) return
    if (now.kind === 'refused') return refuse(now.why)
    // What a page that failed has read so far is not what may be said.
    if (now.kind === 'failed') stop()
    showState(now)
  }
  const listener: Listener = new Listener({
    url: '/mcp',
    token,
    async readAll(current) {
      session = current
      await records.readAll(current)
      if (isCurrent()) cards.setAttribute('aria-busy', 'false')
    },
    onMessage: (message, current) => records.take(message, current),
    onState,
    onHeard: () => {
      if (isCurrent()) noteHeard()
    },
  })
  const refresh = (): void => {
    if (session !== undefined && state.dataset['state'] === 'live')
      records.readAll(session).catch(() => listener.wake())
  }
  listening = { token, listener, refresh }
  void listener.run()
  form.hidden = true
  stopListening.hidden = false
}

function stop(): void {
  listening?.listener.end()
  listening = undefined
  toSay.clear()
  speaker.stop()
  clearRecords()
  cards.setAttribute('aria-busy', 'true')
  put('count', '')
  heardMs = undefined
  showState({ kind: 'ended' })
  form.hidden = false
  stopListening.hidden = true
}

function refuse(why: string): void {
  // Focus elsewhere on the page is not moved; the alert tells the user.
  const isIdle =
    document.activeElement === document.body || document.activeElement === stopListening
  stop()
  showState({ kind: 'refused', why })
  put('token-problem', refusalWords(why))
  tokenField.setAttribute('aria-invalid', 'true')
  if (isIdle) tokenField.focus()
}

form.addEventListener('submit', (event) => {
  event.preventDefault()
  const token = tokenField.value.trim()
  put('token-problem', token === '' ? word('tokenFirst') : '')
  tokenField.removeAttribute('aria-invalid')
  if (token === '') return tokenField.focus()
  tokenField.value = ''
  start(token)
  stopListening.focus()
})
stopListening.addEventListener('click', () => {
  stop()
  tokenField.focus()
})
again.addEventListener('click', () => {
  if (latest.dataset['voice'] === 'speaking') speaker.stop()
  else speaker.again()
})
sound.addEventListener('change', () => speaker.mute(!sound.checked))
addEventListener('online', () => listening?.listener.wake())
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState !== 'visible') return
  showAge()
  listening?.listener.wake()
})
// Paper begins with whose list it is.
document.querySelector('h1')?.classList.add('screen-only')
setInterval(showAge, AGE_MS)
setInterval(() => listening?.refresh(), REFRESH_MS)
// Leaving the page ends its session; coming back from the browser's cache opens a new one.
addEventListener('pagehide', () => listening?.listener.end())
addEventListener('pageshow', ({ persisted }) => {
  if (persisted && listening !== undefined) start(listening.token)
})
onFragment((carried) => {
  const token = carried.get('token')
  if (token !== null && token !== '') start(token)
  else if (listening === undefined) form.hidden = false
})
void offerSignIn({ scopes: ['care.read.user'], onToken: start })
