/** Return per band with its interval, against the line of perfect calibration: a drawing without any library. */
import { signedPercent } from './figures.js'
import { svgElement } from './page-element.js'
import { roundTicks, spreadLabels, straightScale } from './plot-scale.js'

/** @typedef {import('../../wire/calibration.ts').CalibrationRow} Row */
/** @typedef {Row & { roi: number, expected_roi: number }} FilledRow */
/**
 * @typedef {object} Frame
 * @property {number} width
 * @property {number} height
 * @property {number[]} xTicks
 * @property {number[]} yTicks
 * @property {(value: number) => number} x
 * @property {(value: number) => number} y
 */

const MARGIN = { left: 64, right: 14, top: 46, bottom: 48 }
/** A whisker longer than this on one side is cut and ends in an arrow: a band of three picks must not flatten the rest. */
const WHISKER_MAX = 0.3
const LABEL_GAP = 36
/** Room for `+10 %` below the axis, with the margins shared out. */
const TICK_WIDTH = 66

/** @param {Row} row @returns {row is FilledRow} */
export const isFilled = (row) => row.roi !== null && row.expected_roi !== null

/** @param {FilledRow} row */
function whisker({ roi, roi_ci95: interval }) {
  const [low, high] = interval ?? [roi, roi]
  return {
    low: Math.max(low, roi - WHISKER_MAX),
    high: Math.min(high, roi + WHISKER_MAX),
    isLowCut: low < roi - WHISKER_MAX,
    isHighCut: high > roi + WHISKER_MAX,
  }
}

/**
 * @param {readonly FilledRow[]} rows
 * @param {number} width
 * @returns {Frame}
 */
function frameOf(rows, width) {
  const height = Math.round(Math.min(470, Math.max(330, width * 0.78)))
  const promised = rows.map(({ expected_roi }) => expected_roi)
  const returned = rows.flatMap((row) => [whisker(row).low, whisker(row).high])
  const xTicks = roundTicks(
    [Math.min(-0.01, ...promised), Math.max(0.01, ...promised)],
    Math.floor(width / TICK_WIDTH),
  )
  const xEnds = /** @type {const} */ ([xTicks[0] ?? 0, xTicks.at(-1) ?? 0])
  const yTicks = roundTicks([Math.min(...xEnds, ...returned), Math.max(...xEnds, ...returned)], 8)
  return {
    width,
    height,
    xTicks,
    yTicks,
    x: straightScale(xEnds, [MARGIN.left + 16, width - MARGIN.right - 16]),
    y: straightScale([yTicks[0] ?? 0, yTicks.at(-1) ?? 0], [height - MARGIN.bottom, MARGIN.top]),
  }
}

/** @param {number} value */
const tickText = (value) => signedPercent(value, 0)

/** @param {Frame} frame */
function grid({ x, y, xTicks, yTicks, width, height }) {
  const [left, right] = [MARGIN.left, width - MARGIN.right]
  const bottom = height - MARGIN.bottom
  const across = yTicks.flatMap((value) => [
    svgElement('line', {
      class: Math.abs(value) < 1e-9 ? 'zero' : 'grid',
      x1: left,
      x2: right,
      y1: y(value),
      y2: y(value),
    }),
    svgElement('text', { class: 'tick end', x: left - 7, y: y(value) + 4 }, tickText(value)),
  ])
  const up = xTicks.map((value) =>
    svgElement('text', { class: 'tick middle', x: x(value), y: bottom + 17 }, tickText(value)),
  )
  const titles = [
    svgElement('text', { class: 'axis middle', x: (left + right) / 2, y: height - 8 }, 'Promised'),
    svgElement(
      'text',
      {
        class: 'axis middle',
        transform: `translate(12 ${(MARGIN.top + bottom) / 2}) rotate(-90)`,
      },
      'Returned',
    ),
  ]
  return [...across, ...up, ...titles]
}

/** @param {Frame} frame */
function perfectLine({ x, y, xTicks }) {
  const [low, high] = [xTicks[0] ?? 0, xTicks.at(-1) ?? 0]
  return svgElement('line', { class: 'perfect', x1: x(low), y1: y(low), x2: x(high), y2: y(high) })
}

/**
 * The regression of return on promise, where there is one.
 *
 * @param {Frame} frame
 * @param {{ slope: number, intercept: number } | null} line
 */
function fittedLine({ x, y, xTicks, yTicks }, line) {
  if (line === null) return []
  const [bottom, top] = [yTicks[0] ?? 0, yTicks.at(-1) ?? 0]
  const at = (/** @type {number} */ value) => line.slope * value + line.intercept
  const inside = [xTicks[0] ?? 0, xTicks.at(-1) ?? 0].map((value) => {
    const clipped = Math.min(top, Math.max(bottom, at(value)))
    return {
      value: line.slope === 0 ? value : (clipped - line.intercept) / line.slope,
      at: clipped,
    }
  })
  const [from, to] = inside
  if (from === undefined || to === undefined) return []
  const ends = { x1: x(from.value), y1: y(from.at), x2: x(to.value), y2: y(to.at) }
  return [svgElement('line', { class: 'fitted', ...ends })]
}

/**
 * An end of a whisker: a bar, or an arrow where it goes on.
 *
 * @param {{ x: number, y: number, isCut: boolean, up: boolean }} end
 */
function whiskerEnd({ x, y, isCut, up }) {
  const tip = up ? -7 : 7
  const d = isCut ? `M${x - 5} ${y}L${x} ${y + tip}L${x + 5} ${y}` : `M${x - 5} ${y}H${x + 5}`
  return svgElement('path', { class: 'whisker', d })
}

/**
 * @param {FilledRow} row
 * @param {Frame} frame
 */
function bandMark(row, frame) {
  const { low, high, isLowCut, isHighCut } = whisker(row)
  const x = frame.x(row.expected_roi)
  const [top, bottom] = [frame.y(high), frame.y(low)]
  const stem =
    row.roi_ci95 === null
      ? []
      : [
          svgElement('line', { class: 'whisker', x1: x, x2: x, y1: top, y2: bottom }),
          whiskerEnd({ x, y: top, isCut: isHighCut, up: true }),
          whiskerEnd({ x, y: bottom, isCut: isLowCut, up: false }),
        ]
  const dot = svgElement('circle', {
    class: row.low_sample ? 'dot low' : 'dot',
    cx: x,
    cy: frame.y(row.roi),
    r: 6,
  })
  const promise = `promised ${signedPercent(row.expected_roi)}, returned ${signedPercent(row.roi)}`
  const title = svgElement('title', {}, `${row.band}: ${promise}, ${row.n} settled`)
  return svgElement('g', { class: 'mark', 'data-band': row.band }, title, ...stem, dot)
}

/** @param {number} count */
const shortCount = (count) =>
  new Intl.NumberFormat('en-GB', {
    notation: 'compact',
    maximumSignificantDigits: count < 100_000 ? 2 : 3,
  }).format(count)

/**
 * Letters and counts above the marks, each joined to its own.
 *
 * @param {readonly FilledRow[]} rows
 * @param {Frame} frame
 */
function bandLabels(rows, frame) {
  const ordered = rows.toSorted((one, other) => one.expected_roi - other.expected_roi)
  const places = spreadLabels(
    ordered.map(({ expected_roi }) => frame.x(expected_roi)),
    { gap: LABEL_GAP, range: [MARGIN.left, frame.width - MARGIN.right - LABEL_GAP / 2] },
  )
  return ordered.flatMap((row, index) => {
    const place = places[index] ?? 0
    const [x, top] = [frame.x(row.expected_roi), frame.y(whisker(row).high) - 9]
    return [
      svgElement('path', { class: 'lead-line', d: `M${place} 37V${MARGIN.top}L${x} ${top}` }),
      svgElement('text', { class: 'band middle', x: place, y: 17 }, row.band),
      svgElement('text', { class: 'tick middle', x: place, y: 32 }, shortCount(row.n)),
    ]
  })
}

/** @param {Frame} frame */
function legend({ width, height }) {
  const left = width - MARGIN.right - 148
  const bottom = height - MARGIN.bottom - 12
  return [
    svgElement('line', {
      class: 'perfect',
      x1: left,
      x2: left + 26,
      y1: bottom - 22,
      y2: bottom - 22,
    }),
    svgElement('text', { class: 'tick', x: left + 33, y: bottom - 18 }, 'perfect calibration'),
    svgElement('line', {
      class: 'fitted',
      x1: left,
      x2: left + 26,
      y1: bottom - 4,
      y2: bottom - 4,
    }),
    svgElement('text', { class: 'tick', x: left + 33, y: bottom }, 'as it turned out'),
  ]
}

/**
 * Draws a column at a width in pixels; the drawing's own text says what a table beside it has in full.
 *
 * @param {readonly Row[]} bands
 * @param {{ width: number, line: { slope: number, intercept: number } | null }} options
 */
export function calibrationPlot(bands, { width, line }) {
  const rows = bands.filter(isFilled)
  const frame = frameOf(rows, width)
  return svgElement(
    'svg',
    {
      role: 'img',
      'aria-label': `Return per grade against what was promised; ${rows.length} grades with settled picks. The table has every figure.`,
      viewBox: `0 0 ${width} ${frame.height}`,
      width,
      height: frame.height,
    },
    ...grid(frame),
    perfectLine(frame),
    ...fittedLine(frame, line),
    ...bandLabels(rows, frame),
    ...rows.map((row) => bandMark(row, frame)),
    ...legend(frame),
  )
}
