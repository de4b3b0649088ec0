/** An agent's page: its time runs down, and while somebody looks it is read again, as the server writes it. */
import { pageElement, put } from '@tallystick/service-kit/browser'
import { timeWords } from '../time-words.ts'

/** How often it is read again, and how soon after a window has closed. Milliseconds. */
const REFRESH_MS = 15_000
const CLOSED_MS = 2_000
/** The server waits up to eight seconds for ledger and mirror node. */
const ANSWER_MS = 12_000

let shownAtMs = performance.now()
let shownAt = new Date()
let askedAtMs = performance.now()
let isAsking = false

function runDown(): number {
  const bars = document.getElementById('bars')
  if (bars === null) return Number.POSITIVE_INFINITY
  const [left, period] = [Number(bars.dataset['left']), Number(bars.dataset['period'])]
  const seconds = Math.max(0, Math.ceil(left - (performance.now() - shownAtMs) / 1_000))
  put('time-left', `${timeWords(seconds)} of ${timeWords(period)}`)
  const width = 100 * Math.min(1, seconds / period)
  pageElement('time-left-bar', SVGRectElement).setAttribute('width', String(width))
  return left === 0 ? Number.POSITIVE_INFINITY : seconds
}

function show(read: Document | null): void {
  const fresh = read?.getElementById('live')
  if (fresh == null) return saySilence()
  pageElement('live').replaceWith(document.adoptNode(fresh))
  shownAtMs = performance.now()
  shownAt = new Date()
  put('silence', '')
}

function saySilence(): void {
  const time = shownAt.toLocaleTimeString('en-GB')
  put('silence', `The service does not answer. This is as it was at ${time} here; trying again.`)
}

/** Parsed by the browser as a document of its own, in which no script runs. */
function ask(): void {
  isAsking = true
  askedAtMs = performance.now()
  const request = new XMLHttpRequest()
  request.open('GET', location.href)
  request.responseType = 'document'
  request.timeout = ANSWER_MS
  request.addEventListener('load', () => show(request.responseXML))
  for (const failure of ['error', 'timeout']) request.addEventListener(failure, saySilence)
  request.addEventListener('loadend', () => {
    isAsking = false
  })
  request.send()
}

function look(): void {
  const secondsLeft = runDown()
  if (isAsking || document.visibilityState !== 'visible') return
  const pauseMs = secondsLeft === 0 ? CLOSED_MS : REFRESH_MS
  if (performance.now() - askedAtMs >= pauseMs) ask()
}

document.addEventListener('visibilitychange', look)
setInterval(look, 1_000)
