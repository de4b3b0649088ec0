/** The ledger's page: its entries, one by one in words, each checked here against the signed checkpoint. */
import { element, pageElement, put, Unreachable } from '@tallystick/service-kit/browser'
import type { EntryView, LedgerPage } from '../../wire/ledger.ts'
import { grouped } from '../figures.ts'
import { putState } from './card-parts.ts'
import { CHECK_WORDS, checkedEntry, checkItem, offerCode } from './checks.ts'
import { aboutWords, entryView, kindWords, recordedWords } from './entry-words.ts'
import { fetchAnswer, NotAnswered, readCheckpoint } from './page-api.ts'
import { showProblem } from './show-issues.ts'

const parameters = new URLSearchParams(location.search)
let shown: number | undefined

const entryLink = (seq: number): string => `/ledger?entry=${seq}`

function entryRow(view: EntryView): HTMLElement {
  return element(
    'tr',
    {},
    element(
      'td',
      { class: 'number' },
      element('a', { href: entryLink(view.seq) }, grouped(view.seq)),
    ),
    element('td', { 'data-label': 'What' }, kindWords(view)),
    element('th', { scope: 'row' }, aboutWords(view)),
    element('td', { 'data-label': 'Recorded' }, recordedWords(view)),
  )
}

const link = (href: string, words: string) => [element('a', { href }, words)]

function pageLinks({ entries, size }: LedgerPage): readonly HTMLElement[] {
  const [newest, oldest] = [entries[0]?.seq, entries.at(-1)?.seq]
  const newer = (newest ?? size) + entries.length + 1
  return [
    ...(newest !== undefined && newest < size - 1
      ? link(newer >= size ? '/ledger' : `/ledger?before=${newer}`, 'Newer')
      : []),
    ...(oldest ? link(`/ledger?before=${oldest}`, 'Older') : []),
  ]
}

async function showList(): Promise<void> {
  const before = parameters.get('before')
  const query = before === null ? '' : `?before=${encodeURIComponent(before)}`
  const page = (await (await fetchAnswer(`/api/ledger${query}`)).json()) as LedgerPage
  put('size', grouped(page.size))
  put('root', page.root)
  pageElement('rows').replaceChildren(...page.entries.map(entryRow))
  pageElement('pages').replaceChildren(...pageLinks(page))
  put('state', page.size === 0 ? 'The ledger is empty.' : '')
  put('signer', (await readCheckpoint())?.signer ?? '–')
}

/** Why there is no answer; a fault of the page stays one. */
function unread(error: unknown): Unreachable {
  if (error instanceof Unreachable) return error
  throw error
}

async function showEntry(seq: number): Promise<void> {
  const answer = await fetchAnswer(`/api/ledger/${seq}`).catch(unread)
  if (answer instanceof NotAnswered && answer.status === 404)
    return showFault(`There is no entry ${grouped(seq)} yet.`)
  if (answer instanceof Unreachable)
    return showFault(`Entry ${grouped(seq)} was not read. ${answer.message}`)
  shown = seq
  put('entry-title', `Entry ${grouped(seq)}`)
  pageElement('entry').replaceChildren(entryView((await answer.json()) as EntryView))
  pageElement('raw').setAttribute('href', `/api/ledger/${seq}`)
  pageElement('entry-section').hidden = false
}

function showFault(words: string): void {
  showProblem('number', words)
  pageElement('number').focus()
}

async function check(): Promise<void> {
  if (shown === undefined) return
  const list = pageElement('checks')
  try {
    const { checks } = await checkedEntry(shown)
    list.replaceChildren(
      ...checks.map(({ name, outcome }) => checkItem(CHECK_WORDS[name], outcome)),
    )
  } catch (error) {
    list.replaceChildren(checkItem(unread(error).message, 'unread'))
  }
}

pageElement('go', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault()
  const text = pageElement('number', HTMLInputElement).value.replaceAll(/[\s,.]/g, '')
  if (!/^\d{1,15}$/.test(text)) return showFault('Expected the number of an entry, from 0.')
  location.assign(entryLink(Number(text)))
})
pageElement('check').addEventListener('click', () => void check())
offerCode('closes/verify-entry.js')

const wanted = parameters.get('entry') ?? ''
if (/^\d{1,15}$/.test(wanted)) void showEntry(Number(wanted))
showList().catch((error) => {
  putState('note warn', `The ledger was not read. ${unread(error).message}`)
})
