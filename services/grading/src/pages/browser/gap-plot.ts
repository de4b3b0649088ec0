/** Each grade's gap between return and promise in standard errors, one line per grade, beside the range that chance allows. */
import { svgElement } from '@tallystick/service-kit/browser'
import type { CalibrationRow } from '../../wire/calibration.ts'
import { signed } from '../figures.ts'
import { makePlot, plotLabel, plotLine, straightScale } from './plot-scale.ts'

type GapRow = Pick<CalibrationRow, 'band' | 'gap_z'>

/** If a promise is true, 95 % of its gaps are within this many standard errors. */
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
  const marks = rows.map(({ band, gap_z: gap }, index) => {
    const y = MARGIN.top + (index + 0.5) * ROW_HEIGHT
    const name = plotLabel('band middle', [20, y + 5], band)
    if (gap === null) return svgElement('g', { 'data-band': band }, name)
    return svgElement(
      'g',
      { class: 'gap', 'data-band': band },
      name,
      plotLine('whisker', { from: [x(0), y], to: [x(gap), y] }),
      svgElement('circle', {
        class: Math.abs(gap) > USUAL ? 'dot' : 'dot low',
        cx: x(gap),
        cy: y,
        r: 6,
      }),
      plotLabel('tick end', [width - 6, y + 4], signed(gap, 1)),
    )
  })
  const middle = (MARGIN.left + width - MARGIN.right) / 2
  const label = 'Gap of each grade in standard errors; the table has every figure.'
  return makePlot({ width, height, label }, [
    svgElement('rect', {
      class: 'usual',
      x: x(-USUAL),
      y: MARGIN.top,
      width: x(USUAL) - x(-USUAL),
      height: bottom - MARGIN.top,
    }),
    plotLine('zero', { from: [x(0), MARGIN.top], to: [x(0), bottom] }),
    ...[-2, 0, 2].map((at) => plotLabel('tick middle', [x(at), bottom + 17], signed(at, 0))),
    plotLabel('axis middle', [middle, height - 8], 'Gap, standard errors'),
    ...marks,
  ])
}
