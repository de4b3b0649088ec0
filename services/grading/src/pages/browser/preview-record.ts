/** The free look at a record before its audit: what became of each bet, which are left out, and why. */
import { type Child, element, pageElement } from '@tallystick/service-kit/browser'
import type { PreviewAnswer, PreviewRow } from '../../wire/coverage.ts'
import { counted, grouped } from '../figures.ts'
import { badge, hint, note } from './card-parts.ts'
import { betWords } from './market-words.ts'
import { filled } from './page-api.ts'
import { groupRow, isLeftOut, type ShownRow } from './preview-answers.ts'
import { byCause, whyWords } from './preview-causes.ts'
import { chosenNote, type OnAnswer, questionItems } from './preview-questions.ts'
import { fieldValue } from './show-issues.ts'

/** What the reader pasted, as the service takes it. */
type ReadRecord =
  | { readonly kind: 'empty' }
  | { readonly kind: 'problem'; readonly problem: string }
  | {
      readonly kind: 'record'
      readonly body: Readonly<Record<string, unknown>>
      /** Other members of a pasted request. */
      readonly rest: Readonly<Record<string, unknown>>
    }

/** Rows shown under a heading. */
const ROWS_FIRST = 50

/** Reads the text as the API's own JSON, a list of picks or a request; anything else is a tracker's file. */
export function readRecord(text: string): ReadRecord {
  if (text.trim() === '') return { kind: 'empty' }
  if (!/^\s*[[{]/.test(text)) {
    const choices = filled({
      odds_notation: fieldValue('notation'),
      date_order: fieldValue('order'),
    })
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

function rowWords(row: PreviewRow): string {
  const { event, market = '', selection = '', written } = row
  if (event === undefined) return written ?? market
  return `${event.home} v ${event.away}, ${event.starts_at.slice(0, 10)}, ${betWords(market, selection, event)}`
}

const TONES: Readonly<Record<PreviewRow['status'], readonly [tone: string, words: string]>> = {
  gradable: ['good', 'graded'],
  ungraded: ['warn', 'UNGRADED'],
  unreadable: ['bad', 'left out'],
  unconfirmed: ['warn', 'left out'],
  repeated: ['warn', 'the same bet again'],
  not_looked_at: ['warn', 'not looked at'],
}

function rowTitle(row: ShownRow): string {
  const bet = rowWords(row)
  return `${placeWords(row)}${bet === '' ? '' : ` · ${bet}`}`
}

function rowItem(row: ShownRow, on: OnAnswer): HTMLElement {
  const [tone, words] = TONES[row.status]
  const why = isLeftOut(row) ? '' : whyWords(row)
  return element(
    'li',
    { 'data-status': row.status },
    element('p', {}, badge(tone, isLeftOut(row) ? 'left out' : words), ` ${rowTitle(row)}`),
    why !== '' && hint(why),
    ...chosenNote(row, on),
  )
}

function rowList(items: readonly HTMLElement[]): HTMLElement {
  const shown = items.slice(0, ROWS_FIRST)
  const rest = items.length - shown.length
  if (rest > 0) shown.push(element('li', { class: 'hint' }, `And ${counted(rest, 'more')}.`))
  return element('ul', { class: 'found whole' }, ...shown)
}

/** Rows under one heading, which the reader opens; `name` keeps it open when the rows change. */
function group(name: string, head: readonly Child[], items: readonly HTMLElement[]): HTMLElement {
  const isOpen = items.length <= ROWS_OPEN_MAX
  return element(
    'details',
    { class: 'cause', 'data-group': name, ...(isOpen ? { open: '' } : {}) },
    element('summary', {}, ...head),
    rowList(items),
  )
}

/** Up to so many rows are shown without a click. */
const ROWS_OPEN_MAX = 3

/** What a row is not graded for. */
function causeGroups(rows: readonly ShownRow[], on: OnAnswer): readonly HTMLElement[] {
  return byCause(rows).map(([cause, own]) => {
    const [tone] = TONES[own[0]?.status ?? 'unreadable']
    const head = [badge(tone, grouped(own.length)), ` ${cause}`]
    return group(
      cause,
      head,
      own.map((row) => rowItem(row, on)),
    )
  })
}

type Finding = NonNullable<PreviewRow['findings']>[number]

/** What the findings of each kind are about. */
const FINDINGS: Readonly<Record<Finding['kind'], string>> = {
  result: 'where your record differs from the ledger: the result',
  closing_odds: 'where your record differs from the ledger: the closing price',
  profit: 'where your record differs from the ledger: the profit',
  league: 'whose league was compared with nothing',
}

/** Where the reader's own record differs, by what differs. */
function findingGroups(rows: readonly ShownRow[]): readonly HTMLElement[] {
  return Object.entries(FINDINGS).flatMap(([kind, words]) => {
    const items = rows.flatMap((row) =>
      (row.findings ?? [])
        .filter((finding) => finding.kind === kind)
        .map(({ message }) => element('li', {}, element('p', {}, rowTitle(row)), hint(message))),
    )
    if (items.length === 0) return []
    return [group(kind, [badge('warn', grouped(items.length)), ` ${words}`], items)]
  })
}

const heading = (words: string): HTMLElement => element('h3', {}, words)

/** The preview for people, by what becomes of each row; nothing of it is a price or a grade. */
export function previewView(rows: readonly ShownRow[], on: OnAnswer): readonly HTMLElement[] {
  const graded = rows.filter((row) => groupRow(row) === 'graded')
  const questions = rows.filter((row) => groupRow(row) === 'question')
  const others = rows.filter((row) => groupRow(row) === 'not_gradable')
  const tone = graded.length === rows.length ? 'good' : graded.length === 0 ? 'bad' : 'warn'
  const summary = `${graded.length} of ${counted(rows.length, 'pick')} would be graded.`
  const rest = [
    questions.length > 0 ? counted(questions.length, 'question') : '',
    others.length > 0 ? `${others.length} not gradable` : '',
  ].filter((words) => words !== '')
  const parts: HTMLElement[] = [
    note(tone, element('strong', {}, summary), rest.length > 0 && ` ${rest.join(', ')}.`),
  ]
  if (graded.length > 0)
    parts.push(
      group(
        'graded',
        [badge('good', grouped(graded.length)), ' graded'],
        graded.map((row) => rowItem(row, on)),
      ),
    )
  parts.push(...findingGroups(rows))
  if (questions.length > 0)
    parts.push(
      heading(`${counted(questions.length, 'question')} for you`),
      rowList(questionItems(questions, rowTitle, on)),
    )
  if (others.length > 0) parts.push(heading('Not gradable, because'), ...causeGroups(others, on))
  const ungraded = others.filter((row) => row.status === 'ungraded' && !isLeftOut(row)).length
  if (ungraded > 0)
    parts.push(
      element(
        'label',
        { class: 'check' },
        element('input', { type: 'checkbox', id: 'keep-ungraded' }),
        ` Send ${ungraded === 1 ? 'the one' : `the ${ungraded}`} that would be UNGRADED too`,
      ),
    )
  return parts
}

/** Shows the questions that the file leaves open. */
export function showChoices(preview: PreviewAnswer | undefined): void {
  const faults = (preview?.rows ?? []).flatMap(({ issues = [] }) => issues)
  const asks = (words: string): boolean => faults.some(({ expected }) => expected.startsWith(words))
  const [notation, order] = [
    asks('a clear notation') || fieldValue('notation') !== '',
    asks('a day that is clear') || fieldValue('order') !== '',
  ]
  pageElement('notation-field').hidden = !notation
  pageElement('order-field').hidden = !order
  pageElement('choices').hidden = !notation && !order
}
