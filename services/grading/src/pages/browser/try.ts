/** The forms page: look up, check, pay, and read the card. */
import { actionButton, element, pageElement, pageFact, put } from '@tallystick/service-kit/browser'
import { decodeFile } from '../../tracker/decode-file.ts'
import type { PreviewAnswer, RowOption } from '../../wire/coverage.ts'
import { counted } from '../figures.ts'
import { cardView } from './card-view.ts'
import { type Candidate, coverMarket, findMarkets } from './find-market.ts'
import { marketSelections, selectionWords } from './market-words.ts'
import { filled, type Look, previewRecord, readCalibration, readCoverage } from './page-api.ts'
import { watchPayer } from './payer.ts'
import { answerRows, groupRow, picksToSend, type ShownRow } from './preview-answers.ts'
import { issueWords } from './preview-causes.ts'
import { missWords, previewView, readRecord, showChoices } from './preview-record.ts'
import { clearIssues, fieldValue, showGradeIssues, showProblem } from './show-issues.ts'
import { isBusy, nameButtons, sell } from './try-sale.ts'

/** A file of 1,000 bets is smaller. */
const FILE_BYTES_MAX = 400_000
/** Problems shown at once. */
const PROBLEMS_MAX = 8
/** An example uses matches of the last few days, so that a few free calls find it. */
const EXAMPLE_DAYS_MAX = 10
const EXAMPLE_PRICES = ['2.10', '3.60', '2.50', '1.90', '4.20']
const EXAMPLE_SELECTIONS = ['home', 'draw', 'away']
const MS_PER_DAY = 86_400_000
/** A key is looked up once typing pauses this long. */
const TYPING_REST_MS = 400
/** A pasted record is looked at once typing pauses this long. */
const PASTING_REST_MS = 700

const market = pageElement('market', HTMLInputElement)
const selection = pageElement('selection', HTMLInputElement)
const picks = pageElement('picks', HTMLTextAreaElement)

function offerSelections(event: Candidate | undefined): void {
  const names = marketSelections(market.value)
  pageElement('selections').replaceChildren(
    ...names.map((name) => element('option', { value: name })),
  )
  pageElement('selection-chips').replaceChildren(
    ...names.map((name) => {
      return actionButton({ class: 'chip' }, selectionWords(name, event), () => {
        selection.value = name
        showProblem('selection', '')
        pageElement('odds').focus()
      })
    }),
  )
}

async function lookUp(): Promise<void> {
  offerSelections(undefined)
  offerSelections(await coverMarket())
}

function takeMarket(key: string): void {
  market.value = key
  showProblem('market', '')
  void lookUp()
}

function chooseFound(key: string, event: Candidate): void {
  takeMarket(key)
  offerSelections(event)
  selection.focus()
}

function gradeBody() {
  const options = filled({
    reference: fieldValue('reference'),
    method: fieldValue('method'),
    basis: fieldValue('basis'),
  })
  const pick = {
    market: market.value.trim(),
    selection: fieldValue('selection'),
    odds: fieldValue('odds'),
    ...filled({ placed_at: fieldValue('placed-at') }),
  }
  return Object.keys(options).length === 0 ? { pick } : { pick, options }
}

function sendGrade(): void {
  clearIssues()
  void sell({
    kind: 'grade',
    body: gradeBody(),
    showIssues: showGradeIssues,
    onNearest: takeMarket,
  })
}

function showPickProblems(problems: readonly string[]): void {
  const shown = problems.slice(0, PROBLEMS_MAX).map((problem) => element('p', {}, problem))
  const rest = problems.length - shown.length
  if (rest > 0) shown.push(element('p', {}, `And ${counted(rest, 'more problem')}.`))
  pageElement('picks-problem').replaceChildren(...shown)
  if (problems.length === 0) return picks.removeAttribute('aria-invalid')
  picks.setAttribute('aria-invalid', 'true')
  picks.focus()
}

type Preview = Look<PreviewAnswer>
type Shown = Look<readonly ShownRow[]>

/** The last look and its text: another request about the same text shares it. */
let last: { readonly text: string; readonly look: Promise<Preview> } | undefined
/** What the reader answered; it stays until another record is pasted over all of it. */
const answers = new Map<string, readonly string[]>()
/** The rows with these answers, of one look. */
let answered:
  | { readonly slate: unknown; readonly said: string; readonly rows: Promise<Shown> }
  | undefined

const choicesText = (): string => `${fieldValue('notation')} ${fieldValue('order')}`

function showRows(found: Shown): void {
  const preview = pageElement('preview')
  const open = new Set(
    [...preview.querySelectorAll<HTMLElement>('details[open]')].map(
      ({ dataset }) => dataset['group'],
    ),
  )
  const isKept = isKeptUngraded()
  if (found.kind === 'seen') {
    preview.replaceChildren(...previewView(found.answer, { row: answerRow, file: answerFile }))
    for (const group of preview.querySelectorAll<HTMLElement>('details'))
      if (open.has(group.dataset['group'])) group.setAttribute('open', '')
    const box = document.getElementById('keep-ungraded')
    if (box instanceof HTMLInputElement) box.checked = isKept
  } else if (answers.size === 0) preview.replaceChildren()
  put('picks-count', found.kind === 'failed' ? missWords(found.status) : '')
  if (found.kind === 'invalid') showPickProblems(found.issues.map(issueWords))
}

/** Answers, looks again, and goes on to the next question. */
async function answerAndLook(): Promise<void> {
  const done = await look()
  if (done?.look.kind !== 'seen') return
  const left = done.look.answer.filter((row) => groupRow(row) === 'question').length
  put('picks-count', left === 0 ? 'No question is left.' : `${counted(left, 'question')} left.`)
  const next = pageElement('preview').querySelector<HTMLElement>('[data-status="question"] button')
  if (next === null) pageElement('audit-send').focus()
  else next.focus()
}

function answerRow(name: string, values: readonly string[]): void {
  if (values.length === 0) answers.delete(name)
  else answers.set(name, values)
  void answerAndLook()
}

/** The members that answer for the whole file, and their fields. */
const FILE_FIELDS = { odds_notation: 'notation', date_order: 'order' } as const

function answerFile(members: NonNullable<RowOption['set']>): void {
  for (const [member, id] of Object.entries(FILE_FIELDS)) {
    const value = members[member as keyof typeof FILE_FIELDS]
    if (value !== undefined) pageElement(id, HTMLSelectElement).value = value
  }
  void answerAndLook()
}

/** The rows of a look with the reader's answers, looked at again if the answers are new. */
function rowsWithAnswers(found: Preview & { kind: 'seen' }): Promise<Shown> {
  const said = JSON.stringify([...answers])
  if (answered?.slate === found && answered.said === said) return answered.rows
  const rows = answerRows(found.answer.rows, answers, (askedPicks) =>
    previewRecord({ picks: askedPicks }),
  )
  answered = { slate: found, said, rows }
  return rows
}

/** Looks at the record, free; undefined if it cannot be sent, or if the reader kept typing. */
async function look() {
  const record = readRecord(picks.value)
  showPickProblems(record.kind === 'problem' ? [record.problem] : [])
  if (record.kind !== 'record') {
    last = undefined
    pageElement('preview').replaceChildren()
    put('picks-count', '')
    return undefined
  }
  const text = `${choicesText()} ${picks.value}`
  put('picks-count', 'Looking at each bet, free…')
  if (last?.text !== text) last = { text, look: previewRecord(record.body) }
  const found = await last.look
  if (last?.text !== text) return undefined
  if (found.kind === 'failed') last = undefined
  const said = JSON.stringify([...answers])
  const shown: Shown = found.kind === 'seen' ? await rowsWithAnswers(found) : found
  if (shown.kind === 'failed') answered = undefined
  // The reader answered or typed meanwhile: that look shows itself.
  if ((last !== undefined && last.text !== text) || said !== JSON.stringify([...answers]))
    return undefined
  showChoices(found.kind === 'seen' ? found.answer : undefined)
  showRows(shown)
  return { look: shown, record }
}

const isKeptUngraded = (): boolean => {
  const box = document.getElementById('keep-ungraded')
  return box instanceof HTMLInputElement && box.checked
}

async function sendAudit(): Promise<void> {
  if (picks.value.trim() === '') return showPickProblems(['Paste at least one pick.'])
  const done = await look()
  if (done?.look.kind !== 'seen' || done.record.kind !== 'record') return undefined
  const sent = picksToSend(done.look.answer, isKeptUngraded())
  const { rest } = done.record
  if (sent.length === 0)
    return showPickProblems(['None of these would be graded, so there is nothing to pay for.'])
  return sell({
    kind: 'audit',
    body: { ...rest, picks: sent },
    onNearest: takeMarket,
    showIssues: (issues) => showPickProblems(issues.map(issueWords)),
  })
}

async function takeFile(): Promise<void> {
  const file = pageElement('file', HTMLInputElement).files?.[0]
  if (file === undefined) return
  if (file.size > FILE_BYTES_MAX)
    return showPickProblems(['That file is too large: at most 1,000 bets.'])
  picks.value = decodeFile(new Uint8Array(await file.arrayBuffer()))
  await look()
}

type FoundMarket = Candidate['markets'][number]

/** Gradable match results of one day. */
async function marketsOfDay(daysAgo: number): Promise<readonly FoundMarket[]> {
  const date = new Date(Date.now() - daysAgo * MS_PER_DAY).toISOString().slice(0, 10)
  const answer = await readCoverage({ date })
  if (answer.kind !== 'seen') return []
  const all = answer.answer.candidates.flatMap(({ markets }) => markets)
  return all.filter(({ market: key, close }) => close === 'final' && key.endsWith('/1x2/ft'))
}

/** Picks of markets in the ledger, at invented prices: an example to submit. */
async function fillExample(): Promise<void> {
  const found: FoundMarket[] = []
  for (
    let daysAgo = 1;
    daysAgo <= EXAMPLE_DAYS_MAX && found.length < EXAMPLE_PRICES.length;
    daysAgo += 1
  )
    found.push(...(await marketsOfDay(daysAgo)))
  const lines = EXAMPLE_PRICES.flatMap((price, index) => {
    const key = found[index]?.market
    return key === undefined ? [] : [[key, EXAMPLE_SELECTIONS[index % 3], price].join(', ')]
  })
  if (lines.length === 0) {
    put('picks-count', 'The ledger has no football from the last few days for an example.')
    return
  }
  picks.value = lines.join('\n')
  await look()
}

function showChoice(): void {
  const isAudit = new FormData(pageElement('choice', HTMLFormElement)).get('kind') === 'audit'
  pageElement('grade-panel').hidden = isAudit
  pageElement('audit-panel').hidden = !isAudit
  pageElement('columns').classList.toggle('one', isAudit)
}

function onSubmit(id: string, send: () => void): void {
  pageElement(id, HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault()
    if (!isBusy()) send()
  })
}

async function markSynthetic(): Promise<void> {
  const answer = await readCalibration({ basis: 'fair', population: 'mechanical' }).catch(
    () => undefined,
  )
  const isSynthetic = answer?.columns[0]?.scope === 'synthetic'
  pageElement('synthetic').hidden = !isSynthetic
  const text = pageElement('find-text', HTMLInputElement)
  if (!isSynthetic || text.value !== '') return
  text.value = 'synthetic united'
  text.placeholder = 'synthetic united'
}

let typing: ReturnType<typeof setTimeout> | undefined
let pasting: ReturnType<typeof setTimeout> | undefined
market.addEventListener('input', () => {
  clearTimeout(typing)
  showProblem('market', '')
  typing = setTimeout(() => void lookUp(), TYPING_REST_MS)
})
picks.addEventListener('input', () => {
  clearTimeout(pasting)
  pasting = setTimeout(() => void look(), PASTING_REST_MS)
})
for (const id of ['notation', 'order'])
  pageElement(id).addEventListener('change', () => void look())
pageElement('file').addEventListener('change', () => void takeFile())
pageElement('example').addEventListener('click', () => void fillExample())
pageElement('choice', HTMLFormElement).addEventListener('change', showChoice)
onSubmit('choice', () => {})
onSubmit(
  'find',
  () =>
    void findMarkets({ text: fieldValue('find-text'), date: fieldValue('find-date') }, chooseFound),
)
onSubmit('grade', sendGrade)
onSubmit('audit', () => void sendAudit())
pageElement('sample').append(cardView(JSON.parse(pageFact('example-card')), { isExample: true }))
showChoice()
watchPayer(nameButtons)
void markSynthetic()
