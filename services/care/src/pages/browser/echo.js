/** The echo page: the assistant's side of a correction. It takes a token, listens over MCP, shows, announces and speaks. */
import { announce, announceWithdrawn, clearRecords, removeRecord, showRecord } from './echo-view.js'
import { followRecords } from './follow-records.js'
import { Listener } from './keep-listening.js'
import { pageElement } from './page-element.js'
import { readSpeech } from './read-record.js'
import { createSpeaker } from './speaker.js'
import { onFragment } from './take-fragment.js'

/** @typedef {import('./keep-listening.js').ListeningState} ListeningState */
/** @typedef {import('./mcp-session.js').McpSession} McpSession */

/** Ages and staleness change without a write: everything is read anew this often. */
const REFRESH_MS = 300_000

const form = pageElement('listen', HTMLFormElement)
const tokenField = pageElement('token', HTMLInputElement)
const tokenProblem = pageElement('token-problem', HTMLElement)
const stopListening = pageElement('stop-listening', HTMLButtonElement)
const state = pageElement('state', HTMLElement)
const cards = pageElement('records', HTMLElement)
const count = pageElement('count', HTMLElement)
const latest = pageElement('latest', HTMLElement)
const voice = pageElement('voice', HTMLElement)
const again = pageElement('again', HTMLButtonElement)
const sound = pageElement('sound', HTMLInputElement)

const STATE_WORDS = {
  connecting: 'Connecting…',
  live: 'Listening',
  waiting: 'Connection lost. Trying again…',
  refused: 'The service refused the token',
  ended: 'Not listening',
}
const VOICE_WORDS = {
  silent: '',
  speaking: 'Speaking…',
  blocked: 'The browser holds the sound back until you press the button.',
  muted: 'Sound is off.',
  voiceless: '',
}
const BUTTON_WORDS = {
  silent: 'Say it again',
  speaking: 'Stop',
  blocked: 'Play the sentence',
  muted: 'Say it again',
  voiceless: 'Say it again',
}
const REFUSAL_WORDS = /** @type {Readonly<Record<string, string>>} */ ({
  expired: 'The token has expired. Ask for a new one.',
  wrong_audience: 'The token is for another service.',
  bad_signature: 'The token was not signed by this service’s issuer.',
  malformed: 'This is not a token: it has three parts, with dots between them.',
})

const speaker = createSpeaker({
  audio: pageElement('audio', HTMLAudioElement),
  onState(kind) {
    latest.dataset.voice = kind
    voice.textContent = VOICE_WORDS[kind]
    again.disabled = kind === 'voiceless'
    again.textContent = BUTTON_WORDS[kind]
    again.classList.toggle('main', kind === 'blocked')
  },
})

/**
 * The version of each record that is to be said: one that was overtaken while its sound was on the way is not.
 *
 * @type {Map<string, number>}
 */
const toSay = new Map()

/**
 * @param {McpSession} session
 * @param {{ uri: string, version: number }} record
 */
async function speak(session, { uri, version }) {
  toSay.set(uri, version)
  const speech = await readSpeech(session, { uri, version })
  if (toSay.get(uri) !== version) return
  if (speech === undefined) speaker.forget()
  else speaker.say({ key: uri, sound: speech })
  if (speech === undefined) voice.textContent = 'The service has no voice for it: it is shown only.'
}

/**
 * @param {import('./follow-records.js').RecordChange} change
 * @param {McpSession} session
 */
function show(change, session) {
  if (change.kind === 'broken' || change.kind === 'gone') {
    toSay.delete(change.uri)
    speaker.retract(change.uri)
    speaker.forget()
    removeRecord(change.uri)
    announceWithdrawn(change)
    return
  }
  const { kind, record } = change
  const isChange = kind !== 'first' && kind !== 'refreshed'
  showRecord(record, isChange)
  if (!isChange) return
  speaker.retract(record.uri)
  announce(change)
  // What is confirmed has been said already. A voice that fails leaves the text, which is what counts.
  if (kind === 'confirmed') speaker.forget()
  else speak(session, record).catch(() => speaker.forget())
}

/** @param {ListeningState} now */
function showState(now) {
  state.dataset.state = now.kind
  const why = now.kind === 'waiting' ? now.why : undefined
  const text = why === undefined ? STATE_WORDS[now.kind] : `${why} Trying again…`
  // Written only where it differs, so that it is announced only then.
  if (state.textContent !== text) state.textContent = text
}

/** @type {{ id: symbol, listener: Listener, refresh: () => void } | undefined} */
let listening
let heldToken = ''

/** @param {string} token */
function start(token) {
  stop()
  heldToken = token
  // What an ended session still answers is not shown any more.
  const id = Symbol('listening')
  const isCurrent = () => listening?.id === id
  const records = followRecords({
    onChange: (change, current) => isCurrent() && show(change, current),
    onList({ count: listed, isCut }) {
      if (!isCurrent()) return
      count.textContent = isCut
        ? `The first ${listed} records are followed.`
        : `${listed} ${listed === 1 ? 'record is' : 'records are'} followed.`
    },
  })
  /** @type {McpSession | undefined} */
  let session
  const listener = new Listener({
    url: '/mcp',
    token,
    async readAll(current) {
      session = current
      await records.readAll(current)
      if (isCurrent()) cards.setAttribute('aria-busy', 'false')
    },
    onMessage: (message, current) => records.take(message, current),
    onState(now) {
      if (!isCurrent()) return
      if (now.kind === 'refused') refuse(now.why)
      else showState(now)
    },
  })
  const refresh = () => {
    if (session !== undefined && state.dataset.state === 'live')
      records.readAll(session).catch(() => listener.wake())
  }
  listening = { id, listener, refresh }
  void listener.run()
  form.hidden = true
  stopListening.hidden = false
}

function stop() {
  listening?.listener.end()
  listening = undefined
  heldToken = ''
  toSay.clear()
  speaker.stop()
  clearRecords()
  cards.setAttribute('aria-busy', 'true')
  count.textContent = ''
  showState({ kind: 'ended' })
  form.hidden = false
  stopListening.hidden = true
}

/** @param {string} why */
function refuse(why) {
  // Who is elsewhere on the page is not taken from there; the alert tells of it.
  const isIdle =
    document.activeElement === document.body || document.activeElement === stopListening
  stop()
  showState({ kind: 'refused', why })
  tokenProblem.textContent = REFUSAL_WORDS[why] ?? `The service refused the token: ${why}.`
  tokenField.setAttribute('aria-invalid', 'true')
  if (isIdle) tokenField.focus()
}

form.addEventListener('submit', (event) => {
  event.preventDefault()
  const token = tokenField.value.trim()
  tokenProblem.textContent = token === '' ? 'Paste a token first.' : ''
  tokenField.toggleAttribute('aria-invalid', false)
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
  if (latest.dataset.voice === 'speaking') speaker.stop()
  else speaker.again()
})
sound.addEventListener('change', () => speaker.mute(!sound.checked))
addEventListener('online', () => listening?.listener.wake())
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') listening?.listener.wake()
})
setInterval(() => listening?.refresh(), REFRESH_MS)
// A page that is left ends its session; one that comes back from the browser's cache opens another.
addEventListener('pagehide', () => listening?.listener.end())
addEventListener('pageshow', ({ persisted }) => {
  if (persisted && heldToken !== '') start(heldToken)
})
onFragment((carried) => {
  const token = carried.get('token')
  if (token !== null && token !== '') start(token)
  else if (listening === undefined) form.hidden = false
})
