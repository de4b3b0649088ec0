/** The free look at a record before its audit: what became of each bet, which are left out, and why. */
import { element, pageElement } from '@tallystick/service-kit/browser'
import type { PreviewAnswer, PreviewRow } from '../../wire/coverage.ts'
import { counted, grouped } from '../figures.ts'
import { badge, hint, note } from './card-parts.ts'
import { marketWords, selectionWords } from './market-words.ts'
import { filled } from './page-api.ts'
import { byCause, whyWords } from './preview-causes.ts'
import { valueOf } from './show-issues.ts'

/** What the reader pasted, as the service takes it. */
export type ReadRecord =
  | { readonly kind: 'empty' }
  | { readonly kind: 'problem'; readonly problem: string }
  | {
      readonly kind: 'record'
      readonly body: Readonly<Record<string, unknown>>
      /** Other members of a pasted request. */
      readonly rest: Readonly<Record<string, unknown>>
    }

/** Rows of problems shown at first. */
const ROWS_FIRST = 50

/** Reads the text as the API's own JSON, a list of picks or a request; anything else is a tracker's file. */
export function readRecord(text: string): ReadRecord {
  if (text.trim() === '') return { kind: 'empty' }
  if (!/^\s*[[{]/.test(text)) {
    const choices = filled({ odds_notation: valueOf('notation'), date_order: valueOf('order') })
    return { kind: 'record', body: { csv: text, ...choices }, rest: {} }
  }
  try {
    const read = JSON.parse(text)
    const { picks, ...rest } = Array.isArray(read) ? { picks: read } : read
    if (Array.isArray(picks)) return { kind: 'record', body: { picks }, rest }
    return { kind: 'problem', problem: 'It has no list of picks.' }
  } catch {
    return { kind: 'problem', problem: 'This is not JSON.' }
  }
}

/** Why the service did not look. */
export const missWords = (status: number | undefined): string =>
  status === 429
    ? 'That was too many looks in a minute. Wait a little and look again.'
    : 'The service is not answering the free look right now.'

const placeWords = ({ line, pick = 0 }: PreviewRow): string =>
  line === undefined ? `Pick ${pick + 1}` : `Line ${line}`

function betWords(row: PreviewRow): string {
  const { event, market = '', selection = '', written } = row
  if (event === undefined) return written ?? market
  return `${event.home} v ${event.away}, ${event.starts_at.slice(0, 10)}: ${marketWords(market)}, ${selectionWords(selection, event)}`
}

const TONES: Readonly<Record<PreviewRow['status'], readonly [tone: string, words: string]>> = {
  gradable: ['good', 'graded'],
  ungraded: ['warn', 'UNGRADED'],
  unreadable: ['bad', 'left out'],
  unconfirmed: ['warn', 'a question'],
  repeated: ['warn', 'the same bet again'],
  not_looked_at: ['warn', 'not looked at'],
}

function rowItem(row: PreviewRow): HTMLElement {
  const [tone, words] = TONES[row.status]
  const why = whyWords(row)
  const bet = betWords(row)
  return element(
    'li',
    { 'data-status': row.status },
    element('p', {}, badge(tone, words), ` ${placeWords(row)}${bet === '' ? '' : ` · ${bet}`}`),
    why !== '' && hint(why),
  )
}

function rowList(rows: readonly PreviewRow[]): HTMLElement {
  const items = rows.slice(0, ROWS_FIRST).map(rowItem)
  const rest = rows.length - items.length
  if (rest > 0) items.push(element('li', { class: 'hint' }, `And ${counted(rest, 'more')}.`))
  return element('ul', { class: 'found whole' }, ...items)
}

/** A cause with its rows, shown at once if there are few. */
function causeItem([cause, rows]: ReturnType<typeof byCause>[number]): HTMLElement {
  const [tone] = TONES[rows[0]?.status ?? 'unreadable']
  return element(
    'details',
    { class: 'cause', ...(rows.length <= CAUSE_OPEN_MAX ? { open: '' } : {}) },
    element('summary', {}, badge(tone, grouped(rows.length)), ` ${cause}`),
    rowList(rows),
  )
}

/** Up to so many rows of a cause are shown without a click. */
const CAUSE_OPEN_MAX = 3

/** The preview for people; nothing of it is a price or a grade. */
export function previewView(preview: PreviewAnswer): readonly HTMLElement[] {
  const good = preview.rows.filter(({ status }) => status === 'gradable')
  const others = preview.rows.filter(({ status }) => status !== 'gradable')
  const tone = others.length === 0 ? 'good' : good.length === 0 ? 'bad' : 'warn'
  const summary = `${good.length} of ${counted(preview.picks, 'pick')} would be graded.`
  const parts: HTMLElement[] = [
    note(
      tone,
      element('strong', {}, summary),
      others.length > 0 && ` ${counted(others.length, 'other')}, by cause:`,
    ),
  ]
  for (const group of byCause(others)) parts.push(causeItem(group))
  if (preview.ungraded > 0)
    parts.push(
      element(
        'label',
        { class: 'check' },
        element('input', { type: 'checkbox', id: 'keep-ungraded' }),
        ` Send ${preview.ungraded === 1 ? 'the one' : `the ${preview.ungraded}`} that would be UNGRADED too`,
      ),
    )
  if (good.length > 0) {
    const what = `What ${good.length === 1 ? 'the one is' : `the ${good.length} are`}`
    parts.push(element('details', {}, element('summary', {}, what), rowList(good)))
  }
  return parts
}

/** Shows the questions that the file leaves open. */
export function showChoices(preview: PreviewAnswer | undefined): void {
  const faults = (preview?.rows ?? []).flatMap(({ issues = [] }) => issues)
  const asks = (words: string): boolean => faults.some(({ expected }) => expected.startsWith(words))
  const [notation, order] = [
    asks('a clear notation') || valueOf('notation') !== '',
    asks('a day that is clear') || valueOf('order') !== '',
  ]
  pageElement('notation-field').hidden = !notation
  pageElement('order-field').hidden = !order
  pageElement('choices').hidden = !notation && !order
}
