/**
 * A price far from anything recorded for its selection (G21): read wrongly or made up more often than taken. It counts
 * nowhere until the bettor says that it was the price. An audit's page runs this module in the reader's browser.
 */
import type { Card, GradeFlag } from '../wire/cards.ts'

/** How many times the best recorded price, or which part of the worst, is still near. */
const NEAR_RATIO_MAX = 1.5
/** Allowance for rounding: 3.15 / 2.1 exceeds 1.5 in binary. */
const ROUNDING = 1e-9

/** The worst and the best price ever recorded for a selection before its start, of any book. */
export type RecordedRange = {
  readonly lowest: number
  readonly highest: number
  /** Whether all of them may be shown. */
  readonly isOpen: boolean
}

export const isFar = (
  taken: number,
  { highest, lowest }: RecordedRange,
  ratioMax = NEAR_RATIO_MAX,
): boolean => Math.max(taken / highest, lowest / taken) > ratioMax + ROUNDING

/** A free look asks about a price from this ratio on, where prices may not be shown. */
const ASKED_RATIO_MIN = 1.35

/**
 * The ratio at which a free look asks about a price. Whoever sends price after price learns it, so among hidden prices it
 * is drawn from the ledger's secret for each selection, and gives none of them away (G14). It is never above the card's.
 */
export function askedRatio({ isOpen }: RecordedRange, secret: string): number {
  if (isOpen) return NEAR_RATIO_MAX
  const drawn = Number.parseInt(secret.slice(0, 4), 16) / 0xffff
  return ASKED_RATIO_MIN + drawn * (NEAR_RATIO_MAX - ASKED_RATIO_MIN)
}

/** The range of prices that all of several bets have together: those of a parlay. */
export const productRange = (ranges: readonly RecordedRange[]): RecordedRange =>
  ranges.reduce((all, range) => ({
    lowest: all.lowest * range.lowest,
    highest: all.highest * range.highest,
    isOpen: all.isOpen && range.isOpen,
  }))

/** A range that a price belongs to as well. */
export const withPrice = (range: RecordedRange, price: number): RecordedRange => ({
  ...range,
  lowest: Math.min(range.lowest, price),
  highest: Math.max(range.highest, price),
})

const FAR: readonly GradeFlag[] = ['price_far_from_recorded']
const FAR_AND_CONFIRMED: readonly GradeFlag[] = [...FAR, 'price_confirmed']
const NONE: readonly GradeFlag[] = []

/** The flags of a card about its price. */
export function farFlags(isPriceFar: boolean, isConfirmed: boolean | undefined) {
  if (!isPriceFar) return NONE
  return isConfirmed === true ? FAR_AND_CONFIRMED : FAR
}

export const isFarFlag = (flag: GradeFlag): boolean => FAR_AND_CONFIRMED.includes(flag)

/** Whether a card says that its price is far from anything recorded, and not that it was confirmed: it counts nowhere. */
export const isUnconfirmed = ({ flags = [] }: Pick<Card, 'flags'>): boolean =>
  flags.includes('price_far_from_recorded') && !flags.includes('price_confirmed')
