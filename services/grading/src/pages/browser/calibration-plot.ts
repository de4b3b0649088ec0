/** Return per band with its interval, against the line of perfect calibration, drawn without a library. */
import { svgElement } from '@tallystick/service-kit/browser'
import { signedPercent } from '../figures.ts'
import type { BandFigures } from './band-table.ts'
import {
  makePlot,
  plotLabel,
  plotLine,
  roundTicks,
  spreadLabels,
  straightScale,
} from './plot-scale.ts'

type FilledRow = BandFigures & { readonly roi: number; readonly expected_roi: number }
type Line = { readonly slope: number; readonly intercept: number } | null
type Frame = ReturnType<typeof plotFrame>

const MARGIN = { left: 64, right: 14, top: 46, bottom: 48 }
/** A whisker longer than this on one side is cut off with an arrow: a band of three picks must not flatten the rest. */
const WHISKER_MAX = 0.3
const LABEL_GAP = 36
/** Room for `+10 %` below the axis, margins included. */
const TICK_WIDTH = 66

export const isFilled = (row: BandFigures): row is FilledRow =>
  row.roi !== null && row.expected_roi !== null

function whisker({ roi, roi_ci95: interval }: FilledRow) {
  const [low, high] = interval ?? [roi, roi]
  return {
    low: Math.max(low, roi - WHISKER_MAX),
    high: Math.min(high, roi + WHISKER_MAX),
    isLowCut: low < roi - WHISKER_MAX,
    isHighCut: high > roi + WHISKER_MAX,
  }
}

/** First and last of rising values. */
const firstAndLast = (values: readonly number[]) => [values[0] ?? 0, values.at(-1) ?? 0] as const

function plotFrame(rows: readonly FilledRow[], width: number) {
  const height = Math.round(Math.min(470, Math.max(330, width * 0.78)))
  const promised = rows.map(({ expected_roi }) => expected_roi)
  const returned = rows.flatMap((row) => [whisker(row).low, whisker(row).high])
  const xTicks = roundTicks(
    [Math.min(-0.01, ...promised), Math.max(0.01, ...promised)],
    Math.floor(width / TICK_WIDTH),
  )
  const xEnds = firstAndLast(xTicks)
  const yTicks = roundTicks([Math.min(...xEnds, ...returned), Math.max(...xEnds, ...returned)], 8)
  return {
    width,
    height,
    xTicks,
    yTicks,
    x: straightScale(xEnds, [MARGIN.left + 16, width - MARGIN.right - 16]),
    y: straightScale(firstAndLast(yTicks), [height - MARGIN.bottom, MARGIN.top]),
  }
}

const tickText = (value: number): string => signedPercent(value, 0)

function grid({ x, y, xTicks, yTicks, width, height }: Frame): readonly SVGElement[] {
  const [left, right] = [MARGIN.left, width - MARGIN.right]
  const bottom = height - MARGIN.bottom
  const across = yTicks.flatMap((value) => {
    const kind = Math.abs(value) < 1e-9 ? 'zero' : 'grid'
    return [
      plotLine(kind, { from: [left, y(value)], to: [right, y(value)] }),
      plotLabel('tick end', [left - 7, y(value) + 4], tickText(value)),
    ]
  })
  const up = xTicks.map((value) =>
    plotLabel('tick middle', [x(value), bottom + 17], tickText(value)),
  )
  const turned = `translate(12 ${(MARGIN.top + bottom) / 2}) rotate(-90)`
  return [
    ...across,
    ...up,
    plotLabel('axis middle', [(left + right) / 2, height - 8], 'Promised'),
    svgElement('text', { class: 'axis middle', transform: turned }, 'Returned'),
  ]
}

function perfectLine({ x, y, xTicks }: Frame): SVGElement {
  const [low, high] = firstAndLast(xTicks)
  return plotLine('perfect', { from: [x(low), y(low)], to: [x(high), y(high)] })
}

/** The regression of return on promise, if any, clipped to the frame. */
function fittedLine({ x, y, xTicks, yTicks }: Frame, fitted: Line): readonly SVGElement[] {
  if (fitted === null) return []
  const { slope, intercept } = fitted
  const [bottom, top] = firstAndLast(yTicks)
  const pointAt = (value: number) => {
    const clipped = Math.min(top, Math.max(bottom, slope * value + intercept))
    return [x(slope === 0 ? value : (clipped - intercept) / slope), y(clipped)] as const
  }
  const [first, last] = firstAndLast(xTicks)
  return [plotLine('fitted', { from: pointAt(first), to: pointAt(last) })]
}

/** A whisker's end: a bar, or an arrow if it continues. */
function whiskerEnd([x, y]: readonly [number, number], tip: number, isCut: boolean): SVGElement {
  const d = isCut ? `M${x - 5} ${y}L${x} ${y + tip}L${x + 5} ${y}` : `M${x - 5} ${y}H${x + 5}`
  return svgElement('path', { class: 'whisker', d })
}

function bandMark(row: FilledRow, frame: Frame): SVGElement {
  const { low, high, isLowCut, isHighCut } = whisker(row)
  const x = frame.x(row.expected_roi)
  const [top, bottom] = [frame.y(high), frame.y(low)]
  const stem =
    row.roi_ci95 === null
      ? []
      : [
          plotLine('whisker', { from: [x, top], to: [x, bottom] }),
          whiskerEnd([x, top], -7, isHighCut),
          whiskerEnd([x, bottom], 7, isLowCut),
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

const shortCount = (count: number): string =>
  new Intl.NumberFormat('en-GB', {
    notation: 'compact',
    maximumSignificantDigits: count < 100_000 ? 2 : 3,
  }).format(count)

/** Letters and counts above the marks, each joined to its own. */
function bandLabels(rows: readonly FilledRow[], frame: Frame): readonly SVGElement[] {
  const ordered = [...rows].sort((left, right) => left.expected_roi - right.expected_roi)
  const places = spreadLabels(
    ordered.map(({ expected_roi }) => frame.x(expected_roi)),
    { gap: LABEL_GAP, range: [MARGIN.left, frame.width - MARGIN.right - LABEL_GAP / 2] },
  )
  return ordered.flatMap((row, index) => {
    const place = places[index] ?? 0
    const [x, top] = [frame.x(row.expected_roi), frame.y(whisker(row).high) - 9]
    return [
      svgElement('path', { class: 'lead-line', d: `M${place} 37V${MARGIN.top}L${x} ${top}` }),
      plotLabel('band middle', [place, 17], row.band),
      plotLabel('tick middle', [place, 32], shortCount(row.n)),
    ]
  })
}

function legend({ width, height }: Frame): readonly SVGElement[] {
  const left = width - MARGIN.right - 148
  const bottom = height - MARGIN.bottom - 12
  const entry = (kind: string, at: number, words: string) => [
    plotLine(kind, { from: [left, at - 4], to: [left + 26, at - 4] }),
    plotLabel('tick', [left + 33, at], words),
  ]
  return [
    ...entry('perfect', bottom - 18, 'perfect calibration'),
    ...entry('fitted', bottom, 'as it turned out'),
  ]
}

/** Draws a column at a width in pixels. */
export function calibrationPlot(
  bands: readonly BandFigures[],
  options: { readonly width: number; readonly line: Line },
): SVGSVGElement {
  const rows = bands.filter(isFilled)
  const frame = plotFrame(rows, options.width)
  const { width, height } = frame
  const label = `Return per grade against what was promised; ${rows.length} grades with settled picks. The table has every figure.`
  return makePlot({ width, height, label }, [
    ...grid(frame),
    perfectLine(frame),
    ...fittedLine(frame, options.line),
    ...bandLabels(rows, frame),
    ...rows.map((row) => bandMark(row, frame)),
    ...legend(frame),
  ])
}
