/** The truth table as a plot, a table and words. The address holds what is counted, so that a view can be shared. */
import { element, pageElement, put } from '@tallystick/service-kit/browser'
import type {
  CalibrationAnswer,
  CalibrationColumn,
  CalibrationRow,
} from '../../wire/calibration.ts'
import { grouped, percentInterval, signed, signedPercent } from '../figures.ts'
import { calibrationPlot, isFilled } from './calibration-plot.ts'
import {
  BASIS_WORDS,
  lineVerdict,
  lineWords,
  POPULATION_WORDS,
  scopeWords,
} from './calibration-words.ts'
import { readCalibration } from './page-api.ts'

/** Below this width the letters would overlap; a phone of 360 px leaves more. */
const PLOT_WIDTH_MIN = 270

const filters = pageElement('filters', HTMLFormElement)
const scopeSelect = pageElement('scope', HTMLSelectElement)
const plot = pageElement('plot')

function chosen(name: string): string {
  const value = new FormData(filters).get(name)
  return typeof value === 'string' ? value : ''
}

const cell = (text: string): HTMLElement => element('td', { class: 'number' }, text)

/** Applies the address's choices; returns the scope, which is offered only once the service has named it. */
function readAddress(): string | undefined {
  const address = new URLSearchParams(location.search)
  for (const name of ['basis', 'population']) {
    const radio = filters.querySelector(
      `input[name="${name}"][value="${CSS.escape(address.get(name) ?? '')}"]`,
    )
    if (radio instanceof HTMLInputElement) radio.checked = true
  }
  return address.get('scope') ?? undefined
}

function writeAddress(): void {
  const address = new URLSearchParams()
  const plainValues = { basis: 'fair', population: 'mechanical', scope: '' }
  for (const [name, plain] of Object.entries(plainValues)) {
    const value = chosen(name)
    if (value !== plain) address.set(name, value)
  }
  history.replaceState(null, '', address.size === 0 ? location.pathname : `?${address}`)
}

const NONE = '–'

function tableRow(row: CalibrationRow): HTMLElement {
  const low = element('small', { class: 'low-mark' }, 'low sample')
  const letter = element('span', { class: 'letter small', 'data-band': row.band }, row.band)
  return element(
    'tr',
    {},
    element('th', { scope: 'row' }, letter),
    element(
      'td',
      { class: 'number' },
      grouped(row.n),
      ...(row.low_sample && row.n > 0 ? [low] : []),
    ),
    cell(row.expected_roi === null ? NONE : signedPercent(row.expected_roi)),
    cell(row.roi === null ? NONE : signedPercent(row.roi)),
    cell(row.roi_ci95 === null ? NONE : percentInterval(row.roi_ci95)),
    cell(row.gap_z === null ? NONE : signed(row.gap_z, 1)),
  )
}

function showTable({ bands, total }: CalibrationColumn): void {
  pageElement('rows').replaceChildren(...bands.map(tableRow))
  pageElement('total').replaceChildren(
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, 'All'),
      cell(grouped(total.n)),
      cell(''),
      cell(total.roi === null ? NONE : signedPercent(total.roi)),
      cell(''),
      cell(''),
    ),
  )
}

let shown: CalibrationColumn | undefined
/** The width of the last drawing: redrawing at the same width would only trigger the observer again. */
let drawnWidth = 0

function draw(): void {
  if (shown === undefined) return
  const width = Math.max(PLOT_WIDTH_MIN, Math.floor(plot.clientWidth))
  drawnWidth = width
  const { bands, line } = shown
  if (bands.some(isFilled)) plot.replaceChildren(calibrationPlot(bands, { width, line }))
  else plot.replaceChildren(element('p', { class: 'empty' }, 'No such pick has settled yet.'))
}

function show(answer: CalibrationAnswer): void {
  const [column] = answer.columns
  if (column === undefined) return
  shown = column
  pageElement('synthetic').hidden = column.scope !== 'synthetic'
  pageElement('result').hidden = false
  pageElement('line-section').hidden = false
  put(
    'population-words',
    `${POPULATION_WORDS[column.population]} They are ${BASIS_WORDS[column.basis]}.`,
  )
  showTable(column)
  draw()
  const isLow = column.bands.some(({ low_sample: low, n }) => low && n > 0)
  put(
    'low-sample',
    isLow
      ? `Low sample: the interval is wider than two points either way; about ${grouped(answer.low_sample_below)} settled picks narrow it to that.`
      : '',
  )
  put('line-verdict', lineVerdict(column))
  put('line-words', lineWords(column))
  put('methodology', answer.methodology)
  put(
    'as-of',
    `Counted: ${grouped(answer.ledger.as_of_seq)} ledger entries, root ${answer.ledger.root}.`,
  )
  const withPicks = `${grouped(column.total.n)} settled picks`
  put(
    'state',
    `${scopeWords(column.scope)}: ${withPicks} on ${grouped(column.total.events)} events.`,
  )
  pageElement('state').className = 'hint'
}

/** Offers the existing scopes; the answer's own is selected if none was requested. */
function offerScopes({ columns, scopes }: CalibrationAnswer): void {
  const current = columns[0]?.scope ?? 'all'
  const offered = [...new Set([current, ...scopes])]
  scopeSelect.replaceChildren(
    ...offered.map((scope) => {
      const option = element('option', { value: scope }, scopeWords(scope))
      if (scope === current) option.setAttribute('selected', '')
      return option
    }),
  )
}

/** Counts requests, so that a slow answer does not replace a newer one. */
let asked = 0

async function refresh(scope: string | undefined): Promise<void> {
  asked += 1
  const mine = asked
  const wanted = { basis: chosen('basis'), population: chosen('population') }
  try {
    const answer = await readCalibration(scope === undefined ? wanted : { ...wanted, scope })
    if (mine !== asked) return
    offerScopes(answer)
    show(answer)
  } catch {
    if (mine !== asked) return
    pageElement('state').className = 'note bad'
    put('state', 'The truth table cannot be read right now. Change a choice above to try again.')
  }
}

filters.addEventListener('change', () => {
  writeAddress()
  void refresh(chosen('scope') || undefined)
})
filters.addEventListener('submit', (event) => event.preventDefault())
new ResizeObserver(() => {
  if (Math.max(PLOT_WIDTH_MIN, Math.floor(plot.clientWidth)) !== drawnWidth) draw()
}).observe(plot)
void refresh(readAddress())
