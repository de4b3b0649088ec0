/** Questions of a free look, each answered in place by one click. */
import { actionButton, element } from '@tallystick/service-kit/browser'
import { ROW_MEANINGS, UNGRADED_MEANINGS } from '../../wire/card-codes.ts'
import type { RowOption } from '../../wire/coverage.ts'
import { counted } from '../figures.ts'
import { badge, hint } from './card-parts.ts'
import { betName, LEAVE_OUT, rowOptions, type ShownRow } from './preview-answers.ts'
import { whyWords } from './preview-causes.ts'

/** Takes the reader's answers. */
export type OnAnswer = {
  /** Of one row; no answers take the earlier ones back. */
  readonly row: (name: string, answers: readonly string[]) => void
  /** Of the whole file. */
  readonly file: (members: NonNullable<RowOption['set']>) => void
}

const MEANINGS: Readonly<Record<string, string>> = { ...ROW_MEANINGS, ...UNGRADED_MEANINGS }

function questionWords(row: ShownRow): string {
  const { cause } = row
  const why = whyWords(row)
  return why === '' ? (MEANINGS[cause?.code ?? ''] ?? '') : why
}

const choices = (label: string, ...buttons: readonly HTMLElement[]): HTMLElement =>
  element('div', { class: 'near', role: 'group', 'aria-label': label }, ...buttons)

/** A question that one answer settles for the whole file. */
function fileQuestion(rows: readonly ShownRow[], on: OnAnswer): HTMLElement {
  const [first] = rows
  const words = first === undefined ? '' : questionWords(first)
  const buttons = (first === undefined ? [] : rowOptions(first)).flatMap(({ label, set }) =>
    set === undefined ? [] : [actionButton({ class: 'small' }, label, () => on.file(set))],
  )
  const lines = rows.map(({ line, pick = 0 }) => line ?? pick + 1)
  const shown = lines.slice(0, LINES_SHOWN_MAX).join(', ')
  const more = lines.length > LINES_SHOWN_MAX ? ' …' : ''
  return element(
    'li',
    { 'data-status': 'question' },
    element('p', {}, badge('warn', counted(rows.length, 'row')), ` Line ${shown}${more}`),
    hint(words),
    choices(words, ...buttons),
  )
}

/** Lines named in a question about the whole file. */
const LINES_SHOWN_MAX = 12

function rowQuestion(row: ShownRow, title: string, on: OnAnswer): HTMLElement {
  const { chosen = [] } = row
  const answer = (label: string) => on.row(betName(row), [...chosen, label])
  const labels = [...rowOptions(row).map(({ label }) => label), LEAVE_OUT]
  const buttons = labels.map((label) =>
    actionButton({ class: 'small' }, label, () => answer(label)),
  )
  return element(
    'li',
    { 'data-status': 'question' },
    element('p', {}, title),
    hint(questionWords(row)),
    ...chosenNote(row, on),
    choices(title, ...buttons),
  )
}

/** What the reader answered, and a way back. */
export function chosenNote(row: ShownRow, on: OnAnswer): readonly HTMLElement[] {
  const { chosen = [] } = row
  if (chosen.length === 0) return []
  const back = actionButton({ class: 'small' }, 'Change', () => on.row(betName(row), []))
  return [element('p', { class: 'hint' }, `You chose: ${chosen.join(', ')}. `, back)]
}

const isOfFile = (row: ShownRow): boolean => rowOptions(row).some(({ set }) => set !== undefined)

/** Questions about the whole file first: one answer settles many rows. */
export function questionItems(
  rows: readonly ShownRow[],
  rowTitle: (row: ShownRow) => string,
  on: OnAnswer,
): readonly HTMLElement[] {
  const ofFile = new Map<string, ShownRow[]>()
  for (const row of rows.filter(isOfFile)) {
    const sets = rowOptions(row).map(({ set }) => set)
    const name = JSON.stringify([row.cause?.field, questionWords(row), sets])
    ofFile.set(name, [...(ofFile.get(name) ?? []), row])
  }
  return [
    ...[...ofFile.values()].map((group) => fileQuestion(group, on)),
    ...rows.filter((row) => !isOfFile(row)).map((row) => rowQuestion(row, rowTitle(row), on)),
  ]
}
