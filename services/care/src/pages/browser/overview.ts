/** The overview: live verdicts on the public chains, refreshed while somebody is looking; what is older says so (C39). */
import {
  fetchInTime,
  offerCopies,
  pageFact,
  put,
  readCheckpoint,
  Unreachable,
} from '@tallystick/service-kit/browser'
import type { VerifyPayload } from '../../wire/verify.ts'
import { showChains, showNoVerdict, showVerdict } from './overview-view.ts'

/** A replay reads every stored byte, so the pause is at least this, and at least twenty times as long as the last replay took. */
const REFRESH_MS = 5_000
const REFRESH_SHARE = 20
/** From here on figures say how old they are. */
const SILENCE_MS = 15_000
/** How often that is looked at. */
const AGE_MS = 1_000

/** With `VERIFY_NAMES=private` the page has no verdict to show, and says so itself. */
const isPrivate = pageFact('verify-names') === 'private'

/** When the service answered last; undefined until it has. */
let answeredMs: number | undefined

/** An answer, or why there is none. */
async function read(path: string, accept: string): Promise<Response | string> {
  try {
    const answer = await fetchInTime(path, { headers: { accept } })
    if (!answer.ok) return `The service answered ${answer.status}.`
    answeredMs = Date.now()
    return answer
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
    return error.message
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

async function showVerification(): Promise<void> {
  if (isPrivate) return
  const answer = await read('/verify', 'application/json')
  if (typeof answer === 'string') return showNoVerdict(answer)
  const verified: VerifyPayload = await answer.json()
  showVerdict(verified)
  showChains(verified)
}

function showAge(): void {
  const isOld = answeredMs === undefined || Date.now() - answeredMs > SILENCE_MS
  const time = answeredMs === undefined ? '' : new Date(answeredMs).toLocaleTimeString()
  put('now-title', isOld ? (time === '' ? 'Not read yet' : `As it was at ${time}`) : 'Right now')
  if (isOld && time !== '' && !isPrivate) showNoVerdict(`Nothing was answered since ${time}.`)
}

async function refresh(): Promise<void> {
  const startedMs = performance.now()
  if (document.visibilityState === 'visible') {
    // One that fails for a fault of the page is reported by browser-check.ts; the others go on.
    for (const part of await Promise.allSettled([
      showVerification(),
      showSessions(),
      showCheckpoint(),
    ]))
      if (part.status === 'rejected') reportError(part.reason)
    showAge()
  }
  const tookMs = performance.now() - startedMs
  setTimeout(() => void refresh(), Math.max(REFRESH_MS, tookMs * REFRESH_SHARE))
}

offerCopies()
void refresh()
setInterval(showAge, AGE_MS)
document.addEventListener('visibilitychange', showAge)
