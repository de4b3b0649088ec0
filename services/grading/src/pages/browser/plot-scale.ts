/** The parts of plots: round ticks, a linear scale, lines and labels. */

import { svgElement } from '@tallystick/service-kit/browser'

type Range = readonly [low: number, high: number]

/** Steps that people count in, as fractions: 1, 2, 5, 10, 20, 50 %. */
const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5]

/** Round values that enclose a non-empty range, in a limited number of steps. */
export function roundTicks([low, high]: Range, stepsMax: number): readonly number[] {
  const fits = (step: number) =>
    Math.ceil(high / step - 1e-9) - Math.floor(low / step + 1e-9) <= stepsMax
  const step = STEPS.find(fits) ?? (high - low) / stepsMax
  const first = Math.floor(low / step + 1e-9)
  const last = Math.ceil(high / step - 1e-9)
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step)
}

type Points = { readonly from: readonly [number, number]; readonly to: readonly [number, number] }

export const plotLine = (kind: string, { from: [x1, y1], to: [x2, y2] }: Points): SVGElement =>
  svgElement('line', { class: kind, x1, y1, x2, y2 })

export const plotLabel = (
  kind: string,
  [x, y]: readonly [number, number],
  text: string,
): SVGElement => svgElement('text', { class: kind, x, y }, text)

/** A plot of a size in pixels. Its label summarises what the table beside it shows in full. */
export const makePlot = (
  plot: { readonly width: number; readonly height: number; readonly label: string },
  parts: readonly SVGElement[],
): SVGSVGElement => {
  const { height, label, width } = plot
  const size = { viewBox: `0 0 ${width} ${height}`, width, height }
  return svgElement('svg', { role: 'img', 'aria-label': label, ...size }, ...parts)
}

export function straightScale([low, high]: Range, [from, to]: Range) {
  return (value: number): number => from + ((value - low) / (high - low)) * (to - from)
}

/** Moves labels on one axis apart as little as needed, keeping their order. `places` ascend. */
export function spreadLabels(
  places: readonly number[],
  { gap, range: [low, high] }: { readonly gap: number; readonly range: Range },
): readonly number[] {
  const spread = [...places]
  for (let pass = 0; pass < spread.length * 4; pass += 1)
    for (let index = 1; index < spread.length; index += 1) {
      const before = spread[index - 1] ?? 0
      const after = spread[index] ?? 0
      const lacking = gap - (after - before)
      if (lacking <= 0) continue
      spread[index - 1] = before - lacking / 2
      spread[index] = after + lacking / 2
    }
  const over = Math.max(0, (spread.at(-1) ?? high) - high)
  const under = Math.max(0, low - (spread[0] ?? low))
  return spread.map((place) => place - over + under)
}
