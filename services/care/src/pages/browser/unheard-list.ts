/** Corrections that nobody has heard, on the clinician's page: it asks with the page's token, now and every minute. */
import { element, pageElement } from '@tallystick/service-kit/browser'
import type { UnheardAnswer } from '../../wire/unheard.ts'
import { chainOf } from './read-record.ts'

/** How often it asks: an alert is about minutes. */
const ASK_MS = 60_000

const itemOf = ({ uri, since }: UnheardAnswer['corrections'][number]): HTMLElement => {
  const { domain = uri, patient = '' } = chainOf(uri) ?? {}
  const time = element('time', { datetime: since }, new Date(since).toLocaleString())
  return element('li', {}, `${domain} of ${patient}, since `, time)
}

async function ask(token: string): Promise<UnheardAnswer | undefined> {
  try {
    const answer = await fetch('/unheard', { headers: { authorization: `Bearer ${token}` } })
    return answer.ok ? ((await answer.json()) as UnheardAnswer) : undefined
  } catch {
    return undefined
  }
}

/** Shows them for the token that the page has at the time. */
export function showUnheard(tokenOf: () => string): { ask(): Promise<void> } {
  const section = pageElement('unheard')
  let timer: ReturnType<typeof setTimeout> | undefined
  const once = async (): Promise<void> => {
    clearTimeout(timer)
    timer = setTimeout(() => void once(), ASK_MS)
    const token = tokenOf()
    const found = token === '' ? undefined : await ask(token)
    const corrections = found?.corrections ?? []
    section.hidden = corrections.length === 0
    pageElement('unheard-list').replaceChildren(...corrections.map(itemOf))
  }
  return { ask: once }
}
