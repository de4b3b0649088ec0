/** Tables of figures: a row a grade with what it promised and returned, and the cells that all tables here share. */
import { element } from '@tallystick/service-kit/browser'
import type { CalibrationRow } from '../../wire/calibration.ts'
import { grouped, percentInterval, signed, signedPercent } from '../figures.ts'
import { letter, tableRow } from './card-parts.ts'

/** What a plot and a table show of a grade, live or studied. */
export type BandFigures = Pick<
  CalibrationRow,
  'band' | 'expected_roi' | 'gap_z' | 'low_sample' | 'n' | 'roi' | 'roi_ci95'
>

const NONE = '–'

export const numberCell = (text: string | undefined): HTMLElement =>
  element('td', { class: 'number' }, text ?? NONE)

export const shareCell = (value: number | null): HTMLElement =>
  numberCell(value === null ? undefined : signedPercent(value))

export function bandRow(row: BandFigures): HTMLElement {
  const count = numberCell(grouped(row.n))
  if (row.low_sample && row.n > 0)
    count.append(element('small', { class: 'low-mark' }, 'low sample'))
  return tableRow(
    letter(row.band, 'small'),
    count,
    shareCell(row.expected_roi),
    shareCell(row.roi),
    numberCell(row.roi_ci95 === null ? undefined : percentInterval(row.roi_ci95)),
    numberCell(row.gap_z === null ? undefined : signed(row.gap_z, 1)),
  )
}

/** A table that scrolls by itself if it does not fit. */
export function figureTable(
  { label, kind = '' }: { readonly label: string; readonly kind?: string },
  columns: readonly (readonly [name: string, kind: string])[],
  rows: readonly HTMLElement[],
): HTMLElement {
  const heads = columns.map(([name, className]) =>
    element('th', { scope: 'col', class: className }, name),
  )
  return element(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label },
    element(
      'table',
      { class: kind },
      element('thead', {}, element('tr', {}, ...heads)),
      element('tbody', {}, ...rows),
    ),
  )
}
