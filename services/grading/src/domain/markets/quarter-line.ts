/**
 * A quarter line from its two recorded halves (G13). Half a stake on -0.5 and half on -1 is a stake on -0.75: one book's
 * closes of both halves say exactly what the quarter was worth, without any model of scores.
 */
import type { MarginMethod } from '@tallystick/odds'
import type { CloseRecord, EventState } from '../closes/event-state.ts'
import { chooseClose, fairClose, fairProbabilityIn } from '../closes/reference-close.ts'
import type { EventMarket } from './markets.ts'

/** One half: its close, the price of the selection there, and that price without the margin. */
type Half = { readonly close: CloseRecord; readonly odds: number; readonly probability: number }

export type QuarterClose = {
  /** The half without a refund, and the one with. */
  readonly halves: readonly [half: Half, whole: Half]
  /** Chance that a unit of the stake wins, if it wins or loses: the fair probability of any two-way pair. */
  readonly probability: number
  /** The one price at which the stake would have the expected return of both halves at theirs. */
  readonly odds: number
  /** The same if the halves had these prices. */
  readonly oddsAt: (half: number, whole: number) => number
}

/** The chances that a bet on the whole-number line wins and loses; the rest is refunded. */
type Outcome = { readonly won: number; readonly lost: number }

/**
 * The whole-number line's chances. Its pair gives won / (won + lost); the half line beside it gives one of the two. If the
 * whole line is harder, a bet loses on both or on neither; if it is easier, it wins on both or on neither.
 */
function wholeOutcome(half: number, whole: number, isHarder: boolean): Outcome {
  return isHarder
    ? { won: ((1 - half) * whole) / (1 - whole), lost: 1 - half }
    : { won: half, lost: (half * (1 - whole)) / whole }
}

/** The chance of a refund cannot be negative; prices rounded to a cent may put it this far below zero. */
const ROUNDING = 1e-9

/** A quarter from its halves' prices and probabilities; undefined if the two lines contradict each other. */
export function findQuarter(
  halves: { readonly half: Omit<Half, 'close'>; readonly whole: Omit<Half, 'close'> },
  isWholeHarder: boolean,
): Omit<QuarterClose, 'halves'> | undefined {
  const { half, whole } = halves
  const outcome = wholeOutcome(half.probability, whole.probability, isWholeHarder)
  if (outcome.won + outcome.lost > 1 + ROUNDING) return undefined
  const won = (half.probability + outcome.won) / 2
  const lost = (1 - half.probability + outcome.lost) / 2
  const oddsAt = (ofHalf: number, ofWhole: number): number =>
    1 + ((ofHalf - 1) * half.probability + (ofWhole - 1) * outcome.won) / 2 / won
  return { probability: won / (won + lost), odds: oddsAt(half.odds, whole.odds), oddsAt }
}

const LINED: ReadonlySet<string> = new Set(['ah', 'total', 'team_total'])

/** Whether a higher line makes the bet easier: a handicap gives goals to the home team, but "over" needs the line's goals. */
const isHigherEasier = (type: string, selection: string): boolean =>
  type === 'ah' ? selection === 'home' : selection === 'under'

/** The close of a quarter line from its halves, both final at one book and feed; undefined unless both are recorded. */
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
    const probability = fairProbabilityIn(fairClose(chosen.close, method), selection)
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
  const quarter = findQuarter({ half: first, whole: second }, isWholeHarder)
  return quarter === undefined ? undefined : { ...quarter, halves: [first, second] }
}
