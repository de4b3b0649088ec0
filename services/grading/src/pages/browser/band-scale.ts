/** A value among the bands: a strip with every letter, and a mark at the pick's value. */
import { GRADE_BANDS, type GradeBand } from '@tallystick/odds/grade-price'
import { svgElement } from '@tallystick/service-kit/browser'
import { signedPercent } from '../figures.ts'

/** Half-width of the strip, a fraction: the outer bands extend beyond it. */
const END = 0.12
const WIDTH = 360
const STRIP = { top: 12, height: 26 }

/** Worst first, as on the axis. */
const BANDS = [...GRADE_BANDS].reverse().map(({ band, fromBillionths }, index, bands) => ({
  band,
  from: Math.max(-END, fromBillionths / 1e9),
  to: Math.min(END, (bands[index + 1]?.fromBillionths ?? Infinity) / 1e9),
}))

const place = (value: number): number =>
  ((Math.min(END, Math.max(-END, value)) + END) / (2 * END)) * WIDTH

function bandField({ band, from, to }: (typeof BANDS)[number], isHere: boolean) {
  const [left, right] = [place(from), place(to)]
  const here = isHere ? ' here' : ''
  const field = svgElement('rect', {
    class: `field${here}`,
    'data-band': band,
    x: left + 1,
    width: right - left - 2,
    y: STRIP.top,
    height: STRIP.height,
    rx: 3,
  })
  const middle = { x: (left + right) / 2, y: STRIP.top + 18 }
  return [field, svgElement('text', { class: `band middle${here}`, ...middle }, band)]
}

/** `value` is the value behind the grade, a fraction. */
export function bandScale(value: number, grade: GradeBand): SVGSVGElement {
  const edges = BANDS.slice(1).map(({ from }) =>
    svgElement('text', { class: 'tick middle', x: place(from), y: 54 }, signedPercent(from, 0)),
  )
  const at = Math.min(WIDTH - 7, Math.max(7, place(value)))
  return svgElement(
    'svg',
    {
      class: 'band-scale',
      role: 'img',
      viewBox: `0 0 ${WIDTH} 58`,
      'aria-label': `${signedPercent(value)} is in band ${grade}`,
    },
    ...BANDS.flatMap((field) => bandField(field, field.band === grade)),
    ...edges,
    svgElement('path', { class: 'pointer', d: `M${at - 7} 0H${at + 7}L${at} 11Z` }),
  )
}
