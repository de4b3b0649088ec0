/**
 * The reference study, a block of its own under its own label: what it read, what each grade returned, and whether the
 * grades came true by market and book. None of it is counted in the live figures above it.
 */
import { element, pageElement } from '@tallystick/service-kit/browser'
import type { ReferenceStudy } from '../../wire/calibration.ts'
import { counted, grouped, number, percentInterval, signed, signedPercent } from '../figures.ts'
import { type BandFigures, bandRow, figureTable, numberCell, shareCell } from './band-table.ts'
import { chanceWords, scopeWords, VERDICT_TONES } from './calibration-words.ts'
import { badge, hint, mono, tableRow } from './card-parts.ts'

const columnsFrom = (first: string) =>
  [
    [first, ''],
    ...['Settled', 'Promised', 'Returned', '95 % interval', 'Gap z'].map(
      (name) => [name, 'number'] as const,
    ),
  ] as const

const basisBands = ({ bands }: ReferenceStudy, basis: 'fair' | 'price'): readonly BandFigures[] =>
  bands
    .filter((row) => row.basis === basis)
    .map(({ promised, ...row }) => ({ ...row, expected_roi: promised, low_sample: false }))

/** The plot's data. */
export const studyPlotted = (study: ReferenceStudy) => ({
  bands: basisBands(study, 'fair'),
  line: study.lines.find(({ scope }) => scope === 'all') ?? null,
})

function lineItem(line: ReferenceStudy['lines'][number]): HTMLElement {
  const { events, n, p_gaps, p_line, scope, verdict } = line
  const slope = `Slope ${number(line.slope, 3)} ± ${number(line.slope_se, 3)}`
  const intercept = `intercept ${signedPercent(line.intercept, 2)} ± ${number(line.intercept_se * 100, 2)}`
  const refunded =
    line.refunded === 0 ? '' : ` Refunded: ${number(line.refunded * 100, 1)}\u00a0% of stakes.`
  return element(
    'li',
    {},
    element(
      'p',
      {},
      element('strong', {}, scope === 'all' ? 'Everything' : scopeWords(scope)),
      ' ',
      badge(VERDICT_TONES[verdict], verdict.replaceAll('_', ' ')),
    ),
    element(
      'p',
      {},
      `By chance alone: all gaps ${chanceWords(p_gaps)}, slope and intercept ${chanceWords(p_line)}.`,
    ),
    hint(
      `${slope}, ${intercept}; standard errors. ${counted(n, 'pick')} on ${counted(events, 'event')}.${refunded}`,
    ),
  )
}

const closingRow = (row: ReferenceStudy['closing'][number]): HTMLElement =>
  tableRow(
    scopeWords(row.scope),
    numberCell(grouped(row.n)),
    shareCell(row.promised),
    shareCell(row.roi),
    numberCell(percentInterval(row.roi_ci95)),
    numberCell(signed(row.gap_z, 1)),
  )

function addTable(id: string, label: string, rows: readonly HTMLElement[]): void {
  const first = id === 'study-closing' ? 'Every selection' : 'Grade'
  pageElement(id).append(figureTable({ label }, columnsFrom(first), rows))
}

/** Fills the block, once: the study does not change while a page is open. */
export function showStudy(study: ReferenceStudy): void {
  const block = pageElement('study-section')
  if (!block.hidden) return
  block.hidden = false
  pageElement('study-label').textContent = study.label
  pageElement('study-files').replaceChildren(
    ...study.files.map(({ name, rows, what }) =>
      element('li', {}, mono(name), `: ${what}; ${counted(rows, 'row')}`),
    ),
  )
  const [fair, price] = [
    basisBands(study, 'fair').map(bandRow),
    basisBands(study, 'price').map(bandRow),
  ]
  addTable('study-bands', 'What each grade returned in the study', fair)
  addTable('study-price', 'The same on the closing price alone', price)
  addTable('study-closing', 'What closing prices returned', study.closing.map(closingRow))
  pageElement('study-lines').replaceChildren(...study.lines.map(lineItem))
  pageElement('study-document').textContent = study.document
}
