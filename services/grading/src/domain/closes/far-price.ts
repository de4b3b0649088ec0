/**
 * A price far from anything recorded for its selection (G21): read wrongly or made up more often than taken. It counts
 * nowhere until the bettor says that it was the price. An audit's page runs this module in the reader's browser.
 */
import type { Card, GradeFlag } from '../../wire/cards.ts'

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

export const isFar = (taken: number, { highest, lowest }: RecordedRange): boolean =>
  Math.max(taken / highest, lowest / taken) > NEAR_RATIO_MAX + ROUNDING

/** Where prices may not be shown, a free look asks from this part of the card's limits on. */
const ASKED_SHARE_MIN = 0.9

/** Four hex digits of a secret as a share of the card's limit. */
const shareDrawn = (secret: string, at: number): number =>
  ASKED_SHARE_MIN + (Number.parseInt(secret.slice(at, at + 4), 16) / 0xffff) * (1 - ASKED_SHARE_MIN)

/**
 * The range that a free look compares a price with: what is far from the recorded one is far from it. Whoever sends price
 * after price learns both of its ends, so among hidden prices each end is drawn by itself, from the ledger's secret for the
 * selection, and gives none of them away (G14). A parlay's is the product of its legs', which says nothing more.
 */
export const askedRange = (range: RecordedRange, secret: string): RecordedRange =>
  range.isOpen
    ? range
    : {
        ...range,
        highest: range.highest * shareDrawn(secret, 0),
        lowest: range.lowest / shareDrawn(secret, 4),
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
