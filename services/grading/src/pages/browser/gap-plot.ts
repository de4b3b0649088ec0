/** Each grade's gap between return and promise in standard errors, one line a grade, beside what chance allows one by itself. */
import { svgElement } from '@tallystick/service-kit/browser'
import type { CalibrationRow } from '../../wire/calibration.ts'
import { signed } from '../figures.ts'
import { straightScale } from './plot-scale.ts'

type GapRow = Pick<CalibrationRow, 'band' | 'gap_z'>

/** Where 95 % of one true promise's gaps lie, standard errors. */
const USUAL = 1.96
/** The axis reaches this far at least. */
const REACH_MIN = 3
const ROW_HEIGHT = 34
const MARGIN = { left: 44, right: 52, top: 10, bottom: 44 }

/** Draws at a width in pixels; grades without an interval have no mark. */
export function gapPlot(rows: readonly GapRow[], width: number): SVGSVGElement {
  const gaps = rows.map(({ gap_z: gap }) => Math.abs(gap ?? 0))
  const reach = Math.ceil(Math.max(REACH_MIN, ...gaps))
  const x = straightScale([-reach, reach], [MARGIN.left, width - MARGIN.right])
  const bottom = MARGIN.top + rows.length * ROW_HEIGHT
  const height = bottom + MARGIN.bottom
  const up = (kind: string, at: number): SVGElement =>
    svgElement('line', { class: kind, x1: x(at), x2: x(at), y1: MARGIN.top, y2: bottom })
  const tick = (at: number): SVGElement =>
    svgElement('text', { class: 'tick middle', x: x(at), y: bottom + 17 }, signed(at, 0))
  const marks = rows.map(({ band, gap_z: gap }, index) => {
    const y = MARGIN.top + (index + 0.5) * ROW_HEIGHT
    const name = svgElement('text', { class: 'band middle', x: 20, y: y + 5 }, band)
    if (gap === null) return svgElement('g', { 'data-band': band }, name)
    return svgElement(
      'g',
      { class: 'gap', 'data-band': band },
      name,
      svgElement('line', { class: 'whisker', x1: x(0), x2: x(gap), y1: y, y2: y }),
      svgElement('circle', {
        class: Math.abs(gap) > USUAL ? 'dot' : 'dot low',
        cx: x(gap),
        cy: y,
        r: 6,
      }),
      svgElement('text', { class: 'tick end', x: width - 6, y: y + 4 }, signed(gap, 1)),
    )
  })
  return svgElement(
    'svg',
    {
      role: 'img',
      'aria-label': 'Gap of each grade in standard errors; the table has every figure.',
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
    },
    svgElement('rect', {
      class: 'usual',
      x: x(-USUAL),
      y: MARGIN.top,
      width: x(USUAL) - x(-USUAL),
      height: bottom - MARGIN.top,
    }),
    up('zero', 0),
    ...[-2, 0, 2].map(tick),
    svgElement(
      'text',
      { class: 'axis middle', x: (MARGIN.left + width - MARGIN.right) / 2, y: height - 8 },
      'Gap, standard errors',
    ),
    ...marks,
  )
}
