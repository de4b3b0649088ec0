/**
 * The recorded close that a pick is graded against. This only chooses among recorded closes of exactly that line; nothing
 * here can make one up.
 */
import { type MarginMethod, type MarginRemoval, removeMargin } from '@tallystick/odds'
import type { UngradedCode } from '../../wire/cards.ts'
import { isOwnFeed, SOURCE_ORDER } from '../../wire/own-feeds.ts'
import {
  type EventMarket,
  lineText,
  marketFamily,
  marketShape,
  ownValue,
} from '../markets/markets.ts'
import type { CloseRecord, EventState } from './event-state.ts'

/** Sharper books first, by log-loss against results; any other book comes after these. */
export const REFERENCE_ORDER: readonly string[] = [
  'pinnacle',
  'betfair_sp',
  'betfair_ex_eu',
  'betfair_ex_uk',
  'betfair_exchange',
  'circasports',
  'market_average',
]

const placeIn = (order: readonly string[], name: string): number => {
  const place = order.indexOf(name)
  return place === -1 ? order.length : place
}

/** A close to grade against, or why there is none. */
type ChosenClose =
  | { readonly kind: 'close'; readonly close: CloseRecord; readonly odds: number }
  | {
      readonly kind: 'none'
      readonly code: UngradedCode
      readonly nearest?: readonly string[] | undefined
    }

const none = (code: UngradedCode, nearest?: readonly string[]): ChosenClose => ({
  kind: 'none',
  code,
  nearest,
})

/**
 * Our feeds before uploads, whole books before single prices, then books in their order, feeds in theirs, and names, so that
 * the choice is always the same. The later record wins only within one source's book.
 */
function isBefore(left: CloseRecord, right: CloseRecord): boolean {
  if (isOwnFeed(left.feed) !== isOwnFeed(right.feed)) return isOwnFeed(left.feed)
  if (left.isComplete !== right.isComplete) return left.isComplete
  const books = placeIn(REFERENCE_ORDER, left.book) - placeIn(REFERENCE_ORDER, right.book)
  if (books !== 0) return books < 0
  if (left.book !== right.book) return left.book < right.book
  const feeds = placeIn(SOURCE_ORDER, left.feed) - placeIn(SOURCE_ORDER, right.feed)
  if (feeds !== 0) return feeds < 0
  return left.feed === right.feed ? left.record.seq > right.record.seq : left.feed < right.feed
}

/** The best final close of a family's line that has the selection's price. */
export function bestClose(
  closes: readonly CloseRecord[],
  wanted: Pick<CloseRecord, 'family' | 'line'> & { readonly selection: string },
): CloseRecord | undefined {
  const { family, line, selection } = wanted
  let best: CloseRecord | undefined
  for (const close of closes) {
    if (close.family !== family || close.line !== line || close.status !== 'final') continue
    if (ownValue(close.odds, selection) === undefined) continue
    if (best === undefined || isBefore(close, best)) best = close
  }
  return best
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
  const ofBook = ({ book }: CloseRecord): boolean => reference === undefined || book === reference
  const closes = reference === undefined ? state.closes : state.closes.filter(ofBook)
  const best = bestClose(closes, { family, line: key.line, selection })
  const odds = ownValue(best?.odds, selection)
  if (best !== undefined && odds !== undefined) return { kind: 'close', close: best, odds }
  const inFamily = state.closes.filter((close) => close.family === family)
  if (inFamily.length === 0) return none('no_close_recorded')
  const inBook = inFamily.filter(ofBook)
  if (inBook.length === 0)
    return none('no_close_recorded', distinct(inFamily.map(({ book }) => book)))
  const onLine = inBook.filter(({ line }) => line === key.line)
  if (onLine.length === 0)
    return none(
      'line_not_recorded',
      distinct(inFamily.map(({ line }) => (line === undefined ? 'no line' : lineText(line)))),
    )
  const hasFinal = onLine.some(({ status }) => status === 'final')
  return none(hasFinal ? 'selection_not_in_close' : 'close_not_final')
}

const distinct = (texts: readonly string[]): readonly string[] => [...new Set(texts)].toSorted()

/** A close without its margin. */
export type FairClose = Extract<MarginRemoval, { kind: 'fair' | 'improper' }> & {
  readonly selections: readonly string[]
}

/** The order of a close's selections, that of its market type. */
const closeSelections = (close: CloseRecord): readonly string[] =>
  marketShape(close.type).selections ?? Object.keys(close.odds)

/** Removes a close's margin; undefined if a price is missing or the prices do not form a book. */
export function fairClose(close: CloseRecord, method: MarginMethod): FairClose | undefined {
  if (!close.isComplete) return undefined
  const selections = closeSelections(close)
  if (close.type === 'place') return placeClose(close, selections, method)
  const removal = removeMargin(
    selections.map((selection) => close.odds[selection] ?? Number.NaN),
    method,
  )
  return removal.kind === 'refused' ? undefined : { ...removal, selections }
}

/** Steps of the bisection: the exponent is exact to 1e-15 after fifty. */
const PLACE_STEPS = 60

/**
 * A place market pays several runners, and its probabilities sum to their number: the power method with that sum. The other
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
  // At 0 every runner is certain; at a high exponent none is.
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
export function fairProbabilityIn(
  fair: FairClose | undefined,
  selection: string,
): number | undefined {
  if (fair?.kind !== 'fair') return undefined
  return fair.probabilities[fair.selections.indexOf(selection)]
}
