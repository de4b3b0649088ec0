/** One measured figure beside its baseline from the same run. */
export type Figure = {
  readonly name: string
  /** Median over the repeats. */
  readonly value: number
  readonly unit: string
  /** What the value is compared with, measured in the same run and unit. */
  readonly baseline: { readonly name: string; readonly value: number }
  /** How many times better than the baseline: above 1 is better, whether the unit is a cost or a rate. */
  readonly ratio: number
  readonly aim: string
  readonly met: boolean
}

/** What a figure must reach. */
export type Aim =
  | { readonly kind: 'at-most' | 'at-least'; readonly value: number }
  /** At least this many times better than the baseline. */
  | { readonly kind: 'ratio'; readonly times: number }
  /** No aim: the figure only accompanies others. */
  | { readonly kind: 'none' }

/** The `aim` of a figure that has none. */
export const NO_AIM = '–'

const ROUND_DIGITS = 4

/** Represents an infinite ratio (a cost of zero): results are JSON, which has no infinity. */
export const RATIO_MAX = 1_000_000

/** As figures are kept. */
export const rounded = (value: number): number => Number(value.toPrecision(ROUND_DIGITS))

function aimText(aim: Aim, unit: string): string {
  if (aim.kind === 'none') return NO_AIM
  if (aim.kind === 'ratio') return aim.times < 1 ? `≥ ${aim.times} ×` : `≥ ${aim.times} × better`
  return `${aim.kind === 'at-most' ? '≤' : '≥'} ${aim.value} ${unit}`
}

/** Judges a figure. `higherIsBetter` is false by default: most figures are costs. */
export function judgeFigure(options: {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly baseline: { readonly name: string; readonly value: number }
  readonly higherIsBetter?: boolean
  readonly aim: Aim
}): Figure {
  const { name, value, unit, baseline, higherIsBetter = false, aim } = options
  const better = higherIsBetter ? value / baseline.value : baseline.value / value
  const ratio = Math.min(better, RATIO_MAX)
  const isMet = {
    'at-most': () => aim.kind === 'at-most' && value <= aim.value,
    'at-least': () => aim.kind === 'at-least' && value >= aim.value,
    ratio: () => aim.kind === 'ratio' && ratio >= aim.times,
    none: () => true,
  }[aim.kind]
  return {
    name,
    value: rounded(value),
    unit,
    baseline: { name: baseline.name, value: rounded(baseline.value) },
    ratio: rounded(ratio),
    aim: aimText(aim, unit),
    met: isMet(),
  }
}
