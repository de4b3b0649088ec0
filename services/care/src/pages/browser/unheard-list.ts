/**
 * Corrections that nobody has heard, and sessions that follow records without listening (C36), on the clinician's page: it asks
 * with the page's token, now and every minute. Without an answer it says since when it does not know.
 */
import {
  element,
  fetchInTime,
  pageElement,
  put,
  Unreachable,
} from '@tallystick/service-kit/browser'
import { elementText } from '../../wire/text-of-others.ts'
import type { SilentSession, UnheardAnswer, UnheardCorrection } from '../../wire/unheard.ts'
import { readChain } from './read-record.ts'
import { nameOfPrincipal } from './sign-in.ts'
import { clinicTime, countWord, timeText, word, wordAround } from './words.ts'

/** How often it asks: an alert is about minutes. */
const ASK_MS = 60_000

const showTime = (since: string): HTMLElement =>
  element('time', { datetime: since }, clinicTime(since))

const bdi = (text: string): HTMLElement => element('bdi', {}, elementText(text))

/** Since when it is so, of which record. */
function placesFor(uri: string, since: string) {
  const { domain = uri, patient = '' } = readChain(uri) ?? {}
  return { domain: bdi(domain), patient: bdi(patient), time: showTime(since) }
}

const unheardItem = ({ uri, since }: UnheardCorrection): HTMLElement =>
  element('li', {}, ...wordAround('unheardSince', placesFor(uri, since)))

function silentItem({ label, records, since, sub, uris }: SilentSession): HTMLElement {
  const [first = ''] = uris
  const who = bdi(label ?? nameOfPrincipal(sub))
  const rest = records > 1 && ` ${countWord('andMore', records - 1)}`
  return element('li', {}, ...wordAround('silentSince', { who, ...placesFor(first, since) }), rest)
}

/** Undefined for a token that the service refuses: the sign-in says so. A text for no answer. */
async function ask(token: string): Promise<UnheardAnswer | string | undefined> {
  try {
    const answer = await fetchInTime('/unheard', { headers: { authorization: `Bearer ${token}` } })
    if (answer.ok) return (await answer.json()) as UnheardAnswer
    return answer.status === 401 ? undefined : word('answered', { status: answer.status })
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
    return word('noAnswer')
  }
}

function showLists(found: UnheardAnswer | undefined): void {
  const { corrections = [], silent = [] } = found ?? {}
  pageElement('unheard').hidden = corrections.length === 0
  pageElement('unheard-list').replaceChildren(...corrections.map(unheardItem))
  pageElement('silent').hidden = silent.length === 0
  pageElement('silent-list').replaceChildren(...silent.map(silentItem))
}

/** Shows them for the token that the page has at the time. */
export function showUnheard(readToken: () => string): { ask(): Promise<void> } {
  let timer: ReturnType<typeof setTimeout> | undefined
  let knownMs: number | undefined
  const once = async (): Promise<void> => {
    clearTimeout(timer)
    timer = setTimeout(() => void once(), ASK_MS)
    const token = readToken()
    const found = token === '' ? undefined : await ask(token)
    pageElement('unheard-unknown').hidden = typeof found !== 'string'
    if (typeof found === 'string') {
      const parts = { time: knownMs === undefined ? '' : timeText(knownMs), why: found }
      const name = knownMs === undefined ? 'unheardUnknown' : 'unheardUnknownSince'
      return put('unheard-unknown', word(name, parts))
    }
    knownMs = found === undefined ? undefined : Date.now()
    return showLists(found)
  }
  return { ask: once }
}
