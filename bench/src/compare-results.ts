// Whether a run's figures hold against the tracked ones. Only ratios are compared: both sides of a ratio come from the
// same run, so another machine, or a busy one, changes them little.
import type { Figure } from './figure.ts'

/** The check fails a figure that loses more than this share of its ratio. */
const WORSE_SHARE_MAX = 1 / 3

/** The fate of a tracked figure. */
type FigureChange =
  | {
      readonly kind: 'held' | 'worse'
      readonly name: string
      readonly tracked: number
      readonly now: number
    }
  /** Tracked, but no longer measured. */
  | { readonly kind: 'gone'; readonly name: string; readonly tracked: number }
  /** Measured, but not tracked yet. */
  | { readonly kind: 'new'; readonly name: string; readonly now: number }

/** One name may stand beside several baselines. */
const resultKey = ({ baseline, name }: Figure): string => `${name}, against ${baseline.name}`

/** Every figure of either side, in run order, with missing ones at the end. */
export function compareFigures(
  tracked: readonly Figure[],
  now: readonly Figure[],
): readonly FigureChange[] {
  const ratios = new Map(tracked.map((figure) => [resultKey(figure), figure.ratio]))
  const changes = now.map((figure): FigureChange => {
    const name = resultKey(figure)
    const before = ratios.get(name)
    ratios.delete(name)
    if (before === undefined) return { kind: 'new', name, now: figure.ratio }
    // Of its size: a ratio below zero, such as that of memory given back, is better when it grows too.
    const isWorse = figure.ratio < before - Math.abs(before) * WORSE_SHARE_MAX
    return { kind: isWorse ? 'worse' : 'held', name, tracked: before, now: figure.ratio }
  })
  const gone = [...ratios].map(([name, before]): FigureChange => {
    return { kind: 'gone', name, tracked: before }
  })
  return [...changes, ...gone]
}

/** Whether a change fails the check. */
export const isFailure = ({ kind }: FigureChange): boolean => kind === 'worse' || kind === 'gone'

/** The better of two measurements of one suite, figure by figure: a machine's other load cannot improve one. */
export function chooseBetter(
  first: readonly Figure[],
  second: readonly Figure[],
): readonly Figure[] {
  const again = new Map(second.map((figure) => [resultKey(figure), figure]))
  return first.map((figure) => {
    const other = again.get(resultKey(figure))
    return other !== undefined && other.ratio > figure.ratio ? other : figure
  })
}

const times = (ratio: number): string => `${ratio} ×`

/** One line for a person. */
export function describeChange(change: FigureChange): string {
  switch (change.kind) {
    case 'held':
    case 'worse':
      return `${change.kind}: ${change.name}: ${times(change.tracked)} tracked, ${times(change.now)} now`
    case 'gone':
      return `gone: ${change.name}: ${times(change.tracked)} tracked`
    case 'new':
      return `new: ${change.name}: ${times(change.now)}`
    default:
      return change satisfies never
  }
}
