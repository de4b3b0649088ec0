/** A value among the bands: a strip with every letter, and a mark where the pick stands. */
import { signedPercent } from './figures.js'
import { svgElement } from './page-element.js'

/** Half-width of the strip, a fraction: the outer bands go on beyond it. */
const END = 0.12
const WIDTH = 360
const STRIP = { top: 12, height: 26 }

/** From the worst, as the axis runs. The edges are those of G1. @type {[band: string, from: number, to: number][]} */
const BANDS = [
  ['F', -END, -0.08],
  ['D', -0.08, -0.04],
  ['C', -0.04, 0],
  ['B', 0, 0.04],
  ['A', 0.04, 0.08],
  ['A+', 0.08, END],
]

/** @param {number} value */
const place = (value) => ((Math.min(END, Math.max(-END, value)) + END) / (2 * END)) * WIDTH

/**
 * @param {number} value The value that the grade stands on, a fraction.
 * @param {string} band
 */
export function bandScale(value, band) {
  const fields = BANDS.flatMap(([name, from, to]) => {
    const [left, right] = [place(from), place(to)]
    const isOurs = name === band
    return [
      svgElement('rect', {
        class: isOurs ? 'field here' : 'field',
        'data-band': name,
        x: left + 1,
        width: right - left - 2,
        y: STRIP.top,
        height: STRIP.height,
        rx: 3,
      }),
      svgElement(
        'text',
        {
          class: isOurs ? 'band middle here' : 'band middle',
          x: (left + right) / 2,
          y: STRIP.top + 18,
        },
        name,
      ),
    ]
  })
  const edges = BANDS.slice(1).map(([, from]) =>
    svgElement('text', { class: 'tick middle', x: place(from), y: 54 }, signedPercent(from, 0)),
  )
  const at = Math.min(WIDTH - 7, Math.max(7, place(value)))
  const mark = svgElement('path', { class: 'pointer', d: `M${at - 7} 0H${at + 7}L${at} 11Z` })
  return svgElement(
    'svg',
    {
      class: 'band-scale',
      role: 'img',
      viewBox: `0 0 ${WIDTH} 58`,
      'aria-label': `${signedPercent(value)} is in band ${band}`,
    },
    ...fields,
    ...edges,
    mark,
  )
}
