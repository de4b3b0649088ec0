/** The truth table as a plot, a table and words. The address holds what is counted, so that a view can be shared. */
import { element, pageElement, put, Unreachable } from '@tallystick/service-kit/browser'
import type {
  CalibrationAnswer,
  CalibrationColumn,
  CalibrationTest,
} from '../../wire/calibration.ts'
import { grouped } from '../figures.ts'
import { bandRow, numberCell, shareCell } from './band-table.ts'
import { calibrationPlot, isFilled } from './calibration-plot.ts'
import {
  BASIS_WORDS,
  lineVerdict,
  lineWords,
  POPULATION_WORDS,
  scopeWords,
  testWords,
} from './calibration-words.ts'
import { big, putState, side, sides, tableRow } from './card-parts.ts'
import { gapPlot } from './gap-plot.ts'
import { readCalibration } from './page-api.ts'
import { showStudy, studyPlotted } from './study-view.ts'

/** Below this width the letters would overlap; a phone of 360 px leaves more. */
const PLOT_WIDTH_MIN = 270

const filters = pageElement('filters', HTMLFormElement)
const scopeSelect = pageElement('scope', HTMLSelectElement)
const plot = pageElement('plot')

function chosen(name: string): string {
  const value = new FormData(filters).get(name)
  return typeof value === 'string' ? value : ''
}

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

function showTable({ bands, total }: CalibrationColumn): void {
  pageElement('rows').replaceChildren(...bands.map(bandRow))
  const [n, roi] = [numberCell(grouped(total.n)), shareCell(total.roi)]
  const cells = [n, numberCell(''), roi, numberCell(''), numberCell('')]
  pageElement('total').replaceChildren(tableRow('All', ...cells))
}

let shown: { readonly column: CalibrationColumn; readonly answer: CalibrationAnswer } | undefined
/** The width of the last drawing: redrawing at the same width would only trigger the observer again. */
let drawnWidth = 0

const plotWidth = (place: HTMLElement): number =>
  Math.max(PLOT_WIDTH_MIN, Math.floor(place.clientWidth))

function draw(): void {
  if (shown === undefined) return
  const { answer, column } = shown
  const width = plotWidth(plot)
  drawnWidth = width
  const { bands, line } = column
  if (bands.some(isFilled)) plot.replaceChildren(calibrationPlot(bands, { width, line }))
  else plot.replaceChildren(element('p', { class: 'empty' }, 'No such pick has settled yet.'))
  const gaps = pageElement('gaps')
  gaps.replaceChildren(gapPlot(bands, plotWidth(gaps)))
  const studied = pageElement('study-plot')
  const { bands: studiedBands, line: studiedLine } = studyPlotted(answer.reference_study)
  studied.replaceChildren(
    calibrationPlot(studiedBands, { width: plotWidth(studied), line: studiedLine }),
  )
}

/** The two tests that the verdict rests on. */
function showTests({ joint }: CalibrationColumn, chanceMin: number): void {
  const testSide = (name: string, test: CalibrationTest): HTMLElement => {
    const { chance, reading, statistic } = testWords(test, chanceMin)
    return side(name, big(chance), 'by chance alone', statistic, reading)
  }
  const tests =
    joint &&
    ([
      testSide('All gaps at once', joint.gaps),
      testSide('Slope and intercept', joint.line),
    ] as const)
  pageElement('joint').replaceChildren(
    ...(tests === null ? [] : [sides('The two tests of the verdict', ...tests)]),
  )
}

function show(answer: CalibrationAnswer): void {
  const [column] = answer.columns
  if (column === undefined) return
  shown = { answer, column }
  pageElement('synthetic').hidden = column.scope !== 'synthetic'
  pageElement('result').hidden = false
  pageElement('line-section').hidden = false
  put(
    'population-words',
    `${POPULATION_WORDS[column.population]} They are ${BASIS_WORDS[column.basis]}.`,
  )
  showTable(column)
  showTests(column, answer.chance_min)
  showStudy(answer.reference_study)
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
  putState(
    'hint',
    `${scopeWords(column.scope)}: ${withPicks} on ${grouped(column.total.events)} events.`,
  )
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
let requests = 0

async function refresh(scope: string | undefined): Promise<void> {
  requests += 1
  const mine = requests
  const wanted = { basis: chosen('basis'), population: chosen('population') }
  try {
    const answer = await readCalibration(scope === undefined ? wanted : { ...wanted, scope })
    if (mine !== requests) return
    offerScopes(answer)
    show(answer)
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
    if (mine !== requests) return
    putState(
      'note bad',
      'The truth table cannot be read right now. Change a choice above to try again.',
    )
  }
}

filters.addEventListener('change', () => {
  writeAddress()
  void refresh(chosen('scope') || undefined)
})
filters.addEventListener('submit', (event) => event.preventDefault())
new ResizeObserver(() => {
  if (plotWidth(plot) !== drawnWidth) draw()
}).observe(plot)
void refresh(readAddress())
