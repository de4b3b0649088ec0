/** The overview: live verdicts on the public chains, refreshed while somebody is looking; what is older says so (C39). */
import {
  fetchInTime,
  offerCopies,
  put,
  readCheckpoint,
  Unreachable,
} from '@tallystick/service-kit/browser'
import type { VerifyPayload } from '../../wire/verify.ts'
import { showChains, showNoVerdict, showVerdict } from './overview-view.ts'
import { areNamesPrivate } from './read-record.ts'
import { timeText, word } from './words.ts'

/** How often what is cheap is asked, and the verdict again after a failure. */
const REFRESH_MS = 5_000
/** A replay reads every stored byte, so the pause is at least this many times as long as the last one took. */
const REPLAY_SHARE = 20
/** From here on figures say how old they are. */
const OLD_MS = 15_000
/** How long requests go without an answer before the page says so: with the pause before the first, as long. */
const SILENCE_MS = OLD_MS - REFRESH_MS
/** How often that is looked at. */
const AGE_MS = 1_000

/** With `VERIFY_NAMES=private` the page has no verdict to show, and says so itself. */
const isPrivate = areNamesPrivate()

/** When the service answered last; undefined until it has. */
let answeredMs: number | undefined
/** Since when requests are without an answer; undefined where the last one was answered. */
let waitingSinceMs: number | undefined
/** When the verdict came that is shown. */
let verdictMs: number | undefined

/** An answer, or why there is none. */
async function read(path: string, accept: string): Promise<Response | string> {
  waitingSinceMs ??= Date.now()
  try {
    const answer = await fetchInTime(path, { headers: { accept } })
    waitingSinceMs = undefined
    if (!answer.ok) return word('answered', { status: answer.status })
    answeredMs = Date.now()
    return answer
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
    return word('noAnswer')
  }
}

async function showCheckpoint(): Promise<void> {
  const answer = await read('/verify/checkpoint', 'text/plain')
  const checkpoint = typeof answer === 'string' ? undefined : readCheckpoint(await answer.text())
  if (checkpoint === undefined) return
  put('checkpoint-size', String(checkpoint.size))
  put('checkpoint-root', checkpoint.root)
  put('checkpoint-signer', checkpoint.signer)
}

async function showSessions(): Promise<void> {
  const answer = await read('/health', 'application/json')
  if (typeof answer === 'string') return
  const { sessions }: { readonly sessions: number } = await answer.json()
  put('sessions', String(sessions))
}

/** Returns whether there was a verdict. */
async function showVerification(): Promise<boolean> {
  const answer = await read('/verify', 'application/json')
  if (typeof answer === 'string') {
    showNoVerdict(answer)
    return false
  }
  const verified: VerifyPayload = await answer.json()
  verdictMs = Date.now()
  showVerdict(verified)
  showChains(verified)
  return true
}

function showAge(): void {
  const nowMs = Date.now()
  const isSilent = waitingSinceMs !== undefined && nowMs - waitingSinceMs > SILENCE_MS
  const shownMs = isPrivate || isSilent ? answeredMs : verdictMs
  if (shownMs === undefined) return put('now-title', word('notRead'))
  const time = timeText(shownMs, nowMs)
  const isOld = isSilent || nowMs - shownMs > OLD_MS
  put('now-title', word(isOld ? 'asItWas' : 'rightNow', { time }))
  if (isSilent && !isPrivate) showNoVerdict(word('nothingSince', { time }))
}

/** Runs while somebody is looking, again after the pause that it returns, and at once when somebody looks again. */
function repeat(run: () => Promise<number>): void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isRunning = false
  const runNow = async (): Promise<void> => {
    if (isRunning || document.visibilityState !== 'visible') return
    clearTimeout(timer)
    isRunning = true
    let pauseMs = REFRESH_MS
    try {
      pauseMs = await run()
    } catch (error) {
      // A fault of the page, which browser-check.ts shows; the rest goes on.
      reportError(error)
    }
    isRunning = false
    showAge()
    timer = setTimeout(() => void runNow(), pauseMs)
  }
  document.addEventListener('visibilitychange', () => void runNow())
  void runNow()
}

offerCopies({
  copy: word('copy'),
  copied: word('copied'),
  copyRefused: word('copyRefused'),
})
for (const figure of document.querySelectorAll<HTMLElement>('[data-of="names"]'))
  figure.hidden = isPrivate
repeat(async () => {
  await Promise.all([showSessions(), showCheckpoint()])
  return REFRESH_MS
})
if (!isPrivate)
  repeat(async () => {
    const startedMs = performance.now()
    if (!(await showVerification())) return REFRESH_MS
    return Math.max(REFRESH_MS, (performance.now() - startedMs) * REPLAY_SHARE)
  })
setInterval(showAge, AGE_MS)
