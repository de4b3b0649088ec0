/**
 * A quarter line from its two recorded halves (G13). Half a stake on -0.5 and half on -1 is a stake on -0.75: what one book
 * closed both halves at says exactly what the quarter was worth, without any model of scores.
 */
import type { MarginMethod } from '@tallystick/odds'
import type { CloseRecord, EventState } from './event-state.ts'
import type { EventMarket } from './markets.ts'
import { chooseClose, fairClose, fairProbabilityOf } from './reference-close.ts'

/** One half: its close, the price of the selection there, and that price without the margin. */
type Half = { readonly close: CloseRecord; readonly odds: number; readonly probability: number }

type QuarterClose = {
  /** The half without a refund, and the one with. */
  readonly halves: readonly [half: Half, whole: Half]
  /** Chance that a unit of the stake wins, of those that win or lose: what any two-way pair without its margin says. */
  readonly probability: number
  /** The one price at which the stake would have the expected return of both halves at theirs. */
  readonly odds: number
}

/** Of a bet on the whole-number line: the chances that it wins and loses; the rest is refunded. */
type Outcome = { readonly won: number; readonly lost: number }

/**
 * The whole-number line's chances. Its pair gives won / (won + lost); the half line beside it gives one of the two: where
 * the whole line is harder, a bet loses on both or on none, where it is easier it wins on both or on none.
 */
function wholeOutcome(half: number, whole: number, isHarder: boolean): Outcome {
  return isHarder
    ? { won: ((1 - half) * whole) / (1 - whole), lost: 1 - half }
    : { won: half, lost: (half * (1 - whole)) / whole }
}

/** Refunds cannot be rarer than never; prices rounded to a cent may say so by this much. */
const ROUNDING = 1e-9

/** A quarter from its halves' prices and probabilities; undefined if the two lines contradict each other. */
export function quarterOf(
  halves: { readonly half: Omit<Half, 'close'>; readonly whole: Omit<Half, 'close'> },
  isWholeHarder: boolean,
): Omit<QuarterClose, 'halves'> | undefined {
  const { half, whole } = halves
  const outcome = wholeOutcome(half.probability, whole.probability, isWholeHarder)
  if (outcome.won + outcome.lost > 1 + ROUNDING) return undefined
  const won = (half.probability + outcome.won) / 2
  const lost = (1 - half.probability + outcome.lost) / 2
  const profit = ((half.odds - 1) * half.probability + (whole.odds - 1) * outcome.won) / 2
  return { probability: won / (won + lost), odds: 1 + profit / won }
}

const LINED: ReadonlySet<string> = new Set(['ah', 'total', 'team_total'])

/** Whether a higher line makes the bet easier: it is goals given to the home team, but goals that "over" needs. */
const isHigherEasier = (type: string, selection: string): boolean =>
  type === 'ah' ? selection === 'home' : selection === 'under'

/** The close of a quarter line by its halves, both final at one book and feed; undefined if they are not both recorded. */
export function quarterClose(
  state: EventState,
  pick: {
    readonly key: EventMarket
    readonly selection: string
    readonly reference?: string | undefined
    readonly method: MarginMethod
  },
): QuarterClose | undefined {
  const { key, method, selection } = pick
  const { line, type } = key
  if (line === undefined || !LINED.has(type) || Number.isInteger(line * 2)) return undefined
  const halfAt = (at: number, closes: readonly CloseRecord[]): Half | undefined => {
    const chosen = chooseClose({ closes }, { ...pick, key: { ...key, line: at } })
    if (chosen.kind === 'none') return undefined
    const probability = fairProbabilityOf(fairClose(chosen.close, method), selection)
    return probability === undefined ? undefined : { ...chosen, probability }
  }
  const [lower, upper] = [line - 0.25, line + 0.25]
  const [half, whole] = Number.isInteger(lower) ? [upper, lower] : [lower, upper]
  const first = halfAt(half, state.closes)
  if (first === undefined) return undefined
  const { book, feed } = first.close
  const second = halfAt(
    whole,
    state.closes.filter((close) => close.book === book && close.feed === feed),
  )
  if (second === undefined) return undefined
  const isWholeHarder = whole > half !== isHigherEasier(type, selection)
  const quarter = quarterOf({ half: first, whole: second }, isWholeHarder)
  return quarter === undefined ? undefined : { ...quarter, halves: [first, second] }
}
