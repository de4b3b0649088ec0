/**
 * Which recorded close a pick is graded against. It only chooses among recorded closes of exactly that line; nothing here
 * can make one up.
 */
import { type MarginMethod, type MarginRemoval, removeMargin } from '@tallystick/odds'
import type { CloseRecord, EventState } from './event-state.ts'
import { type EventMarket, lineText, marketFamily, marketShape, ownValue } from './markets.ts'
import { readMarketPath } from './parse-market.ts'

/** Sharper books first, by log-loss against results; any other book comes after these. */
export const REFERENCE_ORDER: readonly string[] = [
  'pinnacle',
  'betfair_sp',
  'betfair_ex_eu',
  'betfair_ex_uk',
  'circasports',
  'market_average',
]

const rankOf = (book: string): number => {
  const rank = REFERENCE_ORDER.indexOf(book)
  return rank === -1 ? REFERENCE_ORDER.length : rank
}

/** A close to grade against, or why there is none. */
type ChosenClose =
  | { readonly kind: 'close'; readonly close: CloseRecord; readonly odds: number }
  | {
      readonly kind: 'none'
      readonly code:
        | 'no_close_recorded'
        | 'close_not_final'
        | 'selection_not_in_close'
        | 'line_not_recorded'
      readonly nearest?: readonly string[]
    }

const none = (
  code: Extract<ChosenClose, { kind: 'none' }>['code'],
  nearest: readonly string[] = [],
): ChosenClose => ({ kind: 'none', code, ...(nearest.length === 0 ? {} : { nearest }) })

/** Whole books before single prices, then the reference order, then the name, so that the choice is always the same. */
function isBefore(one: CloseRecord, other: CloseRecord): boolean {
  if (one.isComplete !== other.isComplete) return one.isComplete
  const [left, right] = [rankOf(one.book), rankOf(other.book)]
  if (left !== right) return left < right
  return one.book === other.book ? one.record.seq > other.record.seq : one.book < other.book
}

/** Chooses the close of a selection; `reference` names one book. */
export function chooseClose(
  state: Pick<EventState, 'closes'>,
  pick: {
    readonly key: EventMarket
    readonly selection: string
    readonly reference?: string | undefined
  },
): ChosenClose {
  const { key, selection, reference } = pick
  const family = marketFamily(key)
  let best: CloseRecord | undefined
  let [hasFamily, hasBook, hasLine, hasFinal] = [false, false, false, false]
  for (const close of state.closes) {
    if (close.family !== family) continue
    hasFamily = true
    if (reference !== undefined && close.book !== reference) continue
    hasBook = true
    if (close.line !== key.line) continue
    hasLine = true
    if (close.status !== 'final') continue
    hasFinal = true
    if (ownValue(close.odds, selection) === undefined) continue
    if (best === undefined || isBefore(close, best)) best = close
  }
  const odds = ownValue(best?.odds, selection)
  if (best !== undefined && odds !== undefined) return { kind: 'close', close: best, odds }
  const inFamily = state.closes.filter((close) => close.family === family)
  if (!hasFamily) return none('no_close_recorded')
  if (!hasBook) return none('no_close_recorded', distinct(inFamily.map(({ book }) => book)))
  if (!hasLine)
    return none(
      'line_not_recorded',
      distinct(inFamily.map(({ line }) => (line === undefined ? 'no line' : lineText(line)))),
    )
  return none(hasFinal ? 'selection_not_in_close' : 'close_not_final')
}

const distinct = (texts: readonly string[]): readonly string[] => [...new Set(texts)].toSorted()

/** A close without its margin. */
export type FairClose = Extract<MarginRemoval, { kind: 'fair' | 'improper' }> & {
  readonly selections: readonly string[]
}

const fairCloses = new WeakMap<CloseRecord, Map<MarginMethod, FairClose | undefined>>()

/** The order of a close's selections, that of its market type. */
const selectionsOf = (close: CloseRecord): readonly string[] =>
  marketShape(readMarketPath(close.market).type).selections ?? Object.keys(close.odds)

/** Removes a close's margin, once per close and method; undefined if a price is missing or the prices are not a book. */
export function fairClose(close: CloseRecord, method: MarginMethod): FairClose | undefined {
  let byMethod = fairCloses.get(close)
  if (byMethod === undefined) {
    byMethod = new Map()
    fairCloses.set(close, byMethod)
  }
  if (byMethod.has(method)) return byMethod.get(method)
  const fair = close.isComplete ? removed(close, method) : undefined
  byMethod.set(method, fair)
  return fair
}

function removed(close: CloseRecord, method: MarginMethod): FairClose | undefined {
  const selections = selectionsOf(close)
  const { type } = readMarketPath(close.market)
  if (type === 'place') return placeClose(close, selections, method)
  const removal = removeMargin(
    selections.map((selection) => close.odds[selection] ?? Number.NaN),
    method,
  )
  return removal.kind === 'refused' ? undefined : { ...removal, selections }
}

/** Steps of the bisection: the exponent is exact to 1e-15 after fifty. */
const PLACE_STEPS = 60

/**
 * A place market pays so many runners, and its probabilities sum to their number: the power method with that sum. The other
 * methods are defined for one winner.
 */
function placeClose(
  close: CloseRecord,
  selections: readonly string[],
  method: MarginMethod,
): FairClose | undefined {
  const places = close.line ?? 0
  const prices = selections.map((selection) => close.odds[selection] ?? Number.NaN)
  const isRead = prices.every((price) => price > 1) && Number.isInteger(places)
  if (method !== 'power' || !isRead || places < 1 || places >= prices.length) return undefined
  const sumAt = (exponent: number): number =>
    prices.reduce((sum, price) => sum + price ** -exponent, 0)
  // At 0 every runner is certain, far up none is.
  let [low, high] = [0, 64]
  for (let step = 0; step < PLACE_STEPS; step += 1) {
    const middle = (low + high) / 2
    if (sumAt(middle) > places) low = middle
    else high = middle
  }
  const parameter = (low + high) / 2
  const probabilities = prices.map((price) => price ** -parameter)
  return { kind: 'fair', method, probabilities, parameter, booksum: sumAt(1) / places, selections }
}

/** A selection's probability at a close without its margin. */
export function fairProbabilityOf(
  fair: FairClose | undefined,
  selection: string,
): number | undefined {
  if (fair?.kind !== 'fair') return undefined
  return fair.probabilities[fair.selections.indexOf(selection)]
}

type Standing = { readonly atSeconds: number; readonly odds: number | undefined }

/**
 * The highest price of a selection that the ledger held at a time. Each book counts with its last price by then, not with
 * earlier ones. Undefined if the ledger had no price of this market.
 */
export function bestRecorded(
  state: EventState | undefined,
  pick: {
    readonly market: string
    readonly selection: string
    readonly atSeconds: number
  },
): number | undefined {
  if (state === undefined) return undefined
  const standing = new Map<string, Standing>()
  for (const price of [...state.snapshots, ...state.closes]) {
    if (price.market !== pick.market || price.recordedAtSeconds > pick.atSeconds) continue
    const atSeconds = price.capturedAtSeconds ?? price.recordedAtSeconds
    if (atSeconds > pick.atSeconds) continue
    const source = `${price.feed} ${price.book}`
    const known = standing.get(source)
    if (known !== undefined && known.atSeconds > atSeconds) continue
    standing.set(source, { atSeconds, odds: ownValue(price.odds, pick.selection) })
  }
  let best: number | undefined
  for (const { odds } of standing.values())
    if (odds !== undefined && (best === undefined || odds > best)) best = odds
  return best
}
