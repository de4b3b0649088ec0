/** The page with the forms: look up, check, pay, and read the card. */
import { counted } from './figures.js'
import { coverKey, findMarkets } from './find-market.js'
import { selectionsOf, selectionWords } from './market-words.js'
import { readCalibration, readCoverage } from './page-api.js'
import { element, pageElement, pageFact, put } from './page-element.js'
import { pickIssueWords, readPicks } from './read-picks.js'
import { clearIssues, showGradeIssues, showProblem } from './show-issues.js'
import { watchPayer } from './try-payer.js'
import { isBusy, nameButtons, sell } from './try-sale.js'

/** @typedef {import('./find-market.js').Candidate} Candidate */

/** Picks of one audit (G5); the service says the same, after more has been sent. */
const PICKS_MAX = 1_000
/** Lines of problems shown at once. */
const PROBLEMS_MAX = 8
/** An example is made of matches of the last days, so that it is found in a few free calls. */
const EXAMPLE_DAYS_MAX = 10
const EXAMPLE_PRICES = ['2.10', '3.60', '2.50', '1.90', '4.20']
const EXAMPLE_SELECTIONS = ['home', 'draw', 'away']
const MS_PER_DAY = 86_400_000
/** A key is looked up when typing rests this long. */
const TYPING_REST_MS = 400

/** @type {Record<string, readonly string[]>} */
const selectionsByType = JSON.parse(pageFact('market-selections') || '{}')
const market = pageElement('market', HTMLInputElement)
const selection = pageElement('selection', HTMLInputElement)
const picks = pageElement('picks', HTMLTextAreaElement)

/** @param {string} id */
const valueOf = (id) => {
  const input = document.getElementById(id)
  return input instanceof HTMLInputElement || input instanceof HTMLSelectElement
    ? input.value.trim()
    : ''
}

/** @param {Candidate | undefined} event */
function offerSelections(event) {
  const names = selectionsOf(market.value, selectionsByType)
  pageElement('selections', HTMLElement).replaceChildren(
    ...names.map((name) => element('option', { value: name })),
  )
  pageElement('selection-chips', HTMLElement).replaceChildren(
    ...names.map((name) => {
      const chip = element('button', { type: 'button', class: 'chip' }, selectionWords(name, event))
      chip.addEventListener('click', () => {
        selection.value = name
        showProblem('selection', '')
        pageElement('odds', HTMLElement).focus()
      })
      return chip
    }),
  )
}

/** @param {string} key */
async function takeMarket(key) {
  market.value = key
  showProblem('market', '')
  offerSelections(undefined)
  offerSelections(await coverKey(key))
}

/** @param {string} key */
const onNearest = (key) => void takeMarket(key)

/** @param {string} key @param {Candidate} event */
function chooseFound(key, event) {
  void takeMarket(key)
  offerSelections(event)
  selection.focus()
}

/** Optional members are left out where nothing was written. @param {Record<string, string>} members */
const written = (members) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== ''))

function gradeBody() {
  const options = written({
    reference: valueOf('reference'),
    method: valueOf('method'),
    basis: valueOf('basis'),
  })
  const placed = written({ placed_at: valueOf('placed-at') })
  const pick = {
    market: market.value.trim(),
    selection: valueOf('selection'),
    odds: valueOf('odds'),
    ...placed,
  }
  return Object.keys(options).length === 0 ? { pick } : { pick, options }
}

function sendGrade() {
  clearIssues()
  void sell({ kind: 'grade', body: gradeBody(), showIssues: showGradeIssues, onNearest })
}

/** @param {readonly string[]} problems */
function showPickProblems(problems) {
  const shown = problems.slice(0, PROBLEMS_MAX).map((problem) => element('p', {}, problem))
  const rest = problems.length - shown.length
  if (rest > 0) shown.push(element('p', {}, `And ${counted(rest, 'more problem')}.`))
  pageElement('picks-problem', HTMLElement).replaceChildren(...shown)
  if (problems.length === 0) return picks.removeAttribute('aria-invalid')
  picks.setAttribute('aria-invalid', 'true')
  picks.focus()
}

/** What stands between the text and a request; empty where it can be sent. @param {import('./read-picks.js').ReadPicks} read */
function recordProblems({ picks: found, problems }) {
  if (problems.length > 0) return problems.map(({ line, problem }) => `Line ${line}: ${problem}.`)
  if (found.length === 0) return ['Paste at least one pick.']
  return found.length > PICKS_MAX
    ? [`${counted(found.length, 'pick')}: at most 1,000 go into one audit.`]
    : []
}

function sendAudit() {
  const read = readPicks(picks.value)
  const problems = recordProblems(read)
  showPickProblems(problems)
  if (problems.length > 0) return
  const body = { ...read.rest, picks: read.picks }
  void sell({
    kind: 'audit',
    body,
    onNearest,
    showIssues: (issues) =>
      showPickProblems(issues.map((issue) => pickIssueWords(issue, read.lines))),
  })
}

function countPicks() {
  const { picks: found, problems } = readPicks(picks.value)
  const bad = problems.length === 0 ? '' : `, ${counted(problems.length, 'line')} not understood`
  put(
    'picks-count',
    picks.value.trim() === '' ? '' : `${counted(found.length, 'pick')} read${bad}.`,
  )
}

/** Gradable match results of one day. @param {number} daysAgo */
async function marketsOfDay(daysAgo) {
  const date = new Date(Date.now() - daysAgo * MS_PER_DAY).toISOString().slice(0, 10)
  const answer = await readCoverage({ date })
  if (answer.kind !== 'covered') return []
  const all = answer.coverage.candidates.flatMap(({ markets }) => markets)
  return all.filter(({ market: key, close }) => close === 'final' && key.endsWith('/1x2/ft'))
}

/** Picks of markets that the ledger has, at prices of nobody's: something to press the button with. */
async function fillExample() {
  /** @type {Candidate['markets'][number][]} */
  const found = []
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
    put('picks-count', 'The ledger has no football of the last days to make an example of.')
    return
  }
  picks.value = lines.join('\n')
  showPickProblems([])
  countPicks()
}

function showChoice() {
  const isAudit = new FormData(pageElement('choice', HTMLFormElement)).get('kind') === 'audit'
  pageElement('grade-panel', HTMLElement).hidden = isAudit
  pageElement('audit-panel', HTMLElement).hidden = !isAudit
  pageElement('columns', HTMLElement).classList.toggle('one', isAudit)
}

/** @param {string} id @param {() => void} send */
function onSubmit(id, send) {
  pageElement(id, HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault()
    if (!isBusy()) send()
  })
}

async function markSynthetic() {
  const answer = await readCalibration({ basis: 'fair', population: 'mechanical' }).catch(
    () => undefined,
  )
  const isSynthetic = answer?.columns[0]?.scope === 'synthetic'
  pageElement('synthetic', HTMLElement).hidden = !isSynthetic
  const text = pageElement('find-text', HTMLInputElement)
  if (!isSynthetic || text.value !== '') return
  text.value = 'synthetic united'
  text.placeholder = 'synthetic united'
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let typing
market.addEventListener('input', () => {
  clearTimeout(typing)
  typing = setTimeout(() => void takeMarket(market.value), TYPING_REST_MS)
})
picks.addEventListener('input', countPicks)
pageElement('example', HTMLElement).addEventListener('click', () => void fillExample())
pageElement('choice', HTMLFormElement).addEventListener('change', showChoice)
onSubmit('choice', () => {})
onSubmit(
  'find',
  () => void findMarkets({ text: valueOf('find-text'), date: valueOf('find-date') }, chooseFound),
)
onSubmit('grade', sendGrade)
onSubmit('audit', sendAudit)
showChoice()
watchPayer(nameButtons)
void markSynthetic()
