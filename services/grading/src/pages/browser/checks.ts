/** Checks of the ledger, run here and shown: entries against the signed checkpoint, by code that the page shows as well. */
import { element, pageElement, put } from '@tallystick/service-kit/browser'
import { checkEntry, type EntryCheck } from '../../domain/closes/verify-entry.ts'
import type { PublicEntry } from '../../wire/ledger.ts'
import { badge } from './card-parts.ts'
import { fetchAnswer } from './page-api.ts'

/** Where the checking code's modules are served. */
const CODE = '/pages/@tallystick/grading/src/domain/'
/** The ledger may grow between the two reads; then both are repeated, at most this many times. */
const TRIES_MAX = 5

export const CHECK_WORDS: Readonly<Record<EntryCheck['name'], string>> = {
  text: 'Its text hashes to its leaf',
  opening: 'The opened pick is the one that was committed to',
  proof: 'Its proof leads from the leaf to the root',
  root: 'The checkpoint has that root and size',
  signature: 'The ledger’s key signed the checkpoint',
}

/** `unread`: the service did not answer, so nothing is known. */
export type CheckOutcome = EntryCheck['outcome'] | 'unread'

const OUTCOMES: Readonly<Record<CheckOutcome, readonly [tone: string, words: string]>> = {
  holds: ['good', 'holds'],
  fails: ['bad', 'fails'],
  hidden: ['warn', 'not public'],
  unread: ['warn', 'not checked'],
}

/** One line of a list of checks. */
export function checkItem(words: string, outcome: CheckOutcome): HTMLElement {
  const [tone, name] = OUTCOMES[outcome]
  return element('li', { 'data-outcome': outcome }, badge(tone, name), ` ${words}`)
}

async function readHead() {
  const answer = await fetchAnswer('/api/ledger/checkpoint')
  return { note: await answer.text(), verifierKey: answer.headers.get('x-verifier-key') ?? '' }
}

/** An entry and a checkpoint of the same size, and what they say. Throws `Unreachable` if the service does not answer. */
export async function checkedEntry(
  seq: number,
): Promise<{ readonly entry: PublicEntry; readonly checks: readonly EntryCheck[] }> {
  for (let attempt = 1; ; attempt += 1) {
    const head = await readHead()
    const entry = (await (await fetchAnswer(`/api/ledger/${seq}`)).json()) as PublicEntry
    const checks = checkEntry(entry, head)
    const isOtherSize = Number(head.note.split('\n')[1]) !== entry.inclusion.size
    if (!isOtherSize || attempt === TRIES_MAX) return { entry, checks }
  }
}

/** Shows modules as they were loaded, once the reader opens their fold. */
export function offerCode(...names: readonly string[]): void {
  const show = async (): Promise<void> => {
    const texts = names.map(async (name) => (await fetchAnswer(`${CODE}${name}`)).text())
    put('code', (await Promise.all(texts)).join('\n\n'))
  }
  pageElement('code-details').addEventListener('toggle', () => {
    if (pageElement('code').textContent === '') void show()
  })
}
