/**
 * The prices of a selection that the ledger has and had: the best one standing at a moment, to judge whether a pick's price
 * was available. Each source's book counts with its last price by then, not with earlier ones.
 */

import { ownValue } from '../markets/markets.ts'
import type { EventState } from './event-state.ts'
import type { RecordedRange } from './far-price.ts'
import type { PriceRecord } from './price-log.ts'
import { lastOfEach, type StandingAt, stoodAt } from './price-log.ts'

/** How far a price may exceed the best recorded one and still count as available: books move between two records. */
const ABOVE_RECORDED_MAX = 0.01
/** Allowance for rounding: 2.02 / 2 exceeds 1.01 in binary. */
const ROUNDING = 1e-9

/** Whether a price is within that distance above the best recorded one. */
export const isWithinReach = (taken: number, best: number): boolean =>
  taken / best <= 1 + ABOVE_RECORDED_MAX + ROUNDING

type Best = {
  readonly odds: number
  /** Whether every source that had a price of the market then may be shown. */
  readonly isOpen: boolean
}

/** Each source's book's last price of a market at a moment, before the close or at it. */
function standing(
  state: Pick<EventState, 'closes' | 'snapshots'>,
  market: string,
  at: StandingAt,
): readonly PriceRecord[] {
  const holds = stoodAt(at)
  return lastOfEach([...state.snapshots.standing(market, at), ...state.closes], { market, holds })
}

const highestPrice = (prices: readonly PriceRecord[], selection: string): number =>
  prices.reduce((best, { odds }) => Math.max(best, ownValue(odds, selection) ?? 0), 0)

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
  const { atSeconds, market, selection } = pick
  const prices = standing(state, market, { atSeconds, by: 'record' })
  const odds = highestPrice(prices, selection)
  if (odds === 0) return undefined
  return { odds, isOpen: prices.every(({ isRedistributable }) => isRedistributable) }
}

/**
 * Says whether the ledger records such a price as standing at a time (G16); without a time, at any time before the start. A
 * price that its source calls early or closing without a time may have stood at any time.
 */
export function seenPrices(
  state: Pick<EventState, 'closes' | 'snapshots'>,
  { market, selection }: { readonly market: string; readonly selection: string },
): (taken: number, atSeconds: number | undefined) => boolean {
  const closes = state.closes.filter((close) => close.market === market)
  const early = state.snapshots.extremes(market, selection)
  const timeless = Math.max(
    early.timeless,
    highestPrice(
      closes.filter(({ capturedAtSeconds }) => capturedAtSeconds === undefined),
      selection,
    ),
  )
  const ever = Math.max(early.highest, highestPrice(closes, selection))
  return (taken, atSeconds) => {
    if (atSeconds === undefined) return isWithinReach(taken, ever)
    const prices = standing(state, market, { atSeconds, by: 'source' })
    return isWithinReach(taken, Math.max(timeless, highestPrice(prices, selection)))
  }
}

/** The worst and the best price ever recorded for a selection, early or closing, of any book; undefined without any. */
export function recordedRange(
  state: Pick<EventState, 'closes' | 'snapshots'>,
  { market, selection }: { readonly market: string; readonly selection: string },
): RecordedRange | undefined {
  let { highest, isOpen, lowest } = state.snapshots.extremes(market, selection)
  for (const close of state.closes) {
    const price = close.market === market ? ownValue(close.odds, selection) : undefined
    if (price === undefined) continue
    highest = Math.max(highest, price)
    lowest = Math.min(lowest, price)
    isOpen &&= close.isRedistributable
  }
  return highest === 0 ? undefined : { highest, isOpen, lowest }
}
