/**
 * Which prices of a selection the ledger has, and had: the best one standing at a moment, for whether a pick's price was to
 * be had. Each source's book counts with its last price by then, not with earlier ones.
 */
import type { EventState, PriceRecord } from './event-state.ts'
import { ownValue } from './markets.ts'

/** How far a price may exceed the best recorded one and still pass for available: books move between two records. */
const ABOVE_RECORDED_MAX = 0.01
/** Allowance for rounding: 2.02 / 2 exceeds 1.01 in binary. */
const ROUNDING = 1e-9

/** Whether a price is at most so much above the best recorded one. */
export const isWithinReach = (taken: number, best: number): boolean =>
  taken / best <= 1 + ABOVE_RECORDED_MAX + ROUNDING

type Standing = {
  readonly atSeconds: number
  readonly odds: number | undefined
  readonly isRedistributable: boolean
}

type Best = {
  readonly odds: number
  /** Whether every source that had a price of the market then may be shown. */
  readonly isOpen: boolean
}

/**
 * The highest price of a selection that the ledger itself held at a time: what was received later does not count, however
 * early it was seen. Undefined if the ledger had no price of this market.
 */
export function bestRecorded(
  state: EventState | undefined,
  pick: {
    readonly market: string
    readonly selection: string
    readonly atSeconds: number
  },
): Best | undefined {
  if (state === undefined) return undefined
  const standing = new Map<string, Standing>()
  for (const price of [...state.snapshots, ...state.closes]) {
    if (price.market !== pick.market || price.recordedAtSeconds > pick.atSeconds) continue
    const atSeconds = price.capturedAtSeconds ?? price.recordedAtSeconds
    if (atSeconds > pick.atSeconds) continue
    const source = `${price.feed} ${price.book}`
    const known = standing.get(source)
    if (known !== undefined && known.atSeconds > atSeconds) continue
    const { isRedistributable } = price
    standing.set(source, {
      atSeconds,
      odds: ownValue(price.odds, pick.selection),
      isRedistributable,
    })
  }
  let best: number | undefined
  for (const { odds } of standing.values())
    if (odds !== undefined && (best === undefined || odds > best)) best = odds
  if (best === undefined) return undefined
  const isOpen = [...standing.values()].every(({ isRedistributable }) => isRedistributable)
  return { odds: best, isOpen }
}

/** The best price of a selection from each moment on at which it changed, and of those whose moment is unknown. */
type PriceHistory = {
  readonly steps: readonly { readonly atSeconds: number; readonly best: number }[]
  readonly timeless: number
}

function historyOf(prices: readonly PriceRecord[], selection: string): PriceHistory {
  let timeless = 0
  const timed: { atSeconds: number; source: string; odds: number }[] = []
  for (const { book, capturedAtSeconds, feed, odds } of prices) {
    const price = ownValue(odds, selection) ?? 0
    if (capturedAtSeconds === undefined) timeless = Math.max(timeless, price)
    else timed.push({ atSeconds: capturedAtSeconds, source: `${feed} ${book}`, odds: price })
  }
  timed.sort((one, other) => one.atSeconds - other.atSeconds)
  const standing = new Map<string, number>()
  const steps = timed.map(({ atSeconds, odds, source }) => {
    standing.set(source, odds)
    return { atSeconds, best: Math.max(...standing.values()) }
  })
  return { steps, timeless }
}

/** The best price that stood at a moment, 0 for none. */
function bestAt({ steps, timeless }: PriceHistory, atSeconds: number): number {
  let [low, high] = [0, steps.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((steps[middle]?.atSeconds ?? 0) <= atSeconds) low = middle + 1
    else high = middle
  }
  return Math.max(timeless, steps[low - 1]?.best ?? 0)
}

/**
 * Says of a price and a time whether the ledger has a record of such a price standing then (G16); without a time, at any
 * time before the start. A price that its source calls early or closing without a time may have stood at any.
 */
export function priceSeenOf(
  state: Pick<EventState, 'closes' | 'snapshots'>,
  { market, selection }: { readonly market: string; readonly selection: string },
): (taken: number, atSeconds: number | undefined) => boolean {
  const isOfMarket = (price: PriceRecord): boolean => price.market === market
  const history = historyOf(
    [...state.snapshots.filter(isOfMarket), ...state.closes.filter(isOfMarket)],
    selection,
  )
  const everBest = history.steps.reduce((best, step) => Math.max(best, step.best), history.timeless)
  return (taken, atSeconds) =>
    isWithinReach(taken, atSeconds === undefined ? everBest : bestAt(history, atSeconds))
}
