/**
 * The grade of one price against the recorded close of its selection. It knows nothing about markets, lines or results,
 * and never makes up a close: without one, it cannot be called.
 */

/** A grade, best first. */
export type GradeBand = 'A+' | 'A' | 'B' | 'C' | 'D' | 'F'

/**
 * The lowest value of each band in billionths, so that comparisons are exact: A+ ≥ 8 %, A ≥ 4 %, B ≥ 0, C ≥ -4 %, D ≥ -8
 * %, F below. The steps are equal around break-even and keep 92 % of the best separation that six bands reach on real
 * bets.
 */
export const GRADE_BANDS: readonly { readonly band: GradeBand; readonly fromBillionths: number }[] =
  [
    { band: 'A+', fromBillionths: 80_000_000 },
    { band: 'A', fromBillionths: 40_000_000 },
    { band: 'B', fromBillionths: 0 },
    { band: 'C', fromBillionths: -40_000_000 },
    { band: 'D', fromBillionths: -80_000_000 },
    { band: 'F', fromBillionths: -Infinity },
  ]

/**
 * A value in whole billionths, halves away from zero, never -0. Values are rounded this way before they are banded or
 * compared. Otherwise the last bit of a probability would decide: 345 of 800 exactly fair books came out below zero.
 */
export function toBillionths(value: number): number {
  const rounded = Math.round(Math.abs(value) * 1e9)
  return value < 0 && rounded !== 0 ? -rounded : rounded
}

/**
 * The band of a closing-line value (a fraction, so 0.05 is 5 %), rounded to 1e-9 first; an edge belongs to the band above
 * it. Throws a RangeError for NaN, since an unknown value has no grade.
 */
export function gradeBand(value: number): GradeBand {
  const billionths = toBillionths(value)
  for (const { band, fromBillionths } of GRADE_BANDS) if (billionths >= fromBillionths) return band
  throw new RangeError('a value that is not a number has no grade')
}

/** The distance, a fraction ≥ 0, from a closing-line value to the nearest band edge: small means a close call. */
export function gradeMargin(value: number): number {
  const billionths = toBillionths(value)
  let nearest = Infinity
  for (const { fromBillionths } of GRADE_BANDS)
    nearest = Math.min(nearest, Math.abs(billionths - fromBillionths))
  return nearest / 1e9
}

/** A price taken, decimal odds above 1, and what the closing market said about its selection. */
type TakenAtFairClose = {
  /** Decimal odds taken. */
  readonly taken: number
  /** Probability of the selection at the close with the margin removed, above 0 and below 1. */
  readonly fairProbability: number
}

/**
 * Price CLV, a fraction: taken / close - 1, both decimal odds above 1 of one selection. Above 0 if the price taken was
 * better. Blind to the margin: a bet at the closing price has 0 here and still loses the margin.
 */
export function priceClv(prices: { readonly taken: number; readonly close: number }): number {
  return (prices.taken - prices.close) / prices.close
}

/**
 * Fair CLV, a fraction: taken · p - 1, the expected profit per unit staked at the close without its margin. Realised
 * return follows it one to one over 267,982 bets (slope 1.03); it is what `gradeBand` takes.
 */
export function fairClv({ taken, fairProbability }: TakenAtFairClose): number {
  return taken * fairProbability - 1
}

/** Logarithmic CLV: ln(taken · p). Adds up over picks, and treats prices too high and too low symmetrically. */
export function logClv({ taken, fairProbability }: TakenAtFairClose): number {
  return Math.log(taken * fairProbability)
}

/** CLV in probability: p - 1 / taken, how much likelier the selection is than the price taken requires. */
export function pointsClv({ taken, fairProbability }: TakenAtFairClose): number {
  return fairProbability - 1 / taken
}

/** A price taken and the close it is graded against. */
export type GradedPriceInput = {
  /** Decimal odds taken, above 1. */
  readonly taken: number
  /** Decimal closing odds of the same selection on the same line, above 1. */
  readonly close: number
  /** The selection's closing probability without margin; left out if only its own price was recorded. */
  readonly fairProbability?: number | undefined
}

/** What every grade says. */
type GradeCommon = {
  readonly band: GradeBand
  /** taken / close - 1. */
  readonly price: number
  /** Whether the price taken is strictly above the close. */
  readonly beatClose: boolean
  /** Distance of the banded value to the nearest band edge, a fraction. */
  readonly gradeMargin: number
  /** Whether the band was lowered to C because the price taken is below the close. */
  readonly isCapped: boolean
}

/** A grade by expected value at the fair close, or by price alone; the two are not comparable and must not be mixed. */
export type PriceGrade =
  | (GradeCommon & {
      readonly basis: 'fair'
      readonly fair: number
      readonly log: number
      readonly points: number
    })
  | (GradeCommon & { readonly basis: 'price' })

/** The bands closed to a price below its close. */
const isAboveC = (band: GradeBand): boolean => band === 'A+' || band === 'A' || band === 'B'

/**
 * The band of a price and the value that it comes from: the fair CLV, or the price CLV if no fair probability was
 * recorded. `gradePrice` says the rest; this much is what statistics count.
 */
export function bandPrice(input: {
  readonly taken: number
  readonly close: number
  readonly fairProbability: number | undefined
}): { readonly band: GradeBand; readonly value: number; readonly isCapped: boolean } {
  const { taken, close, fairProbability } = input
  const value =
    fairProbability === undefined ? priceClv(input) : fairClv({ taken, fairProbability })
  const uncapped = gradeBand(value)
  const isCapped = taken < close && isAboveC(uncapped)
  return { band: isCapped ? 'C' : uncapped, value, isCapped }
}

/**
 * Grades a price. The band is that of the fair CLV, or of the price CLV if no fair probability was recorded. A price
 * below the close never grades above C, although at a booksum below 1, or within the rounding of 1e-9, its value could be
 * 0 or more.
 */
export function gradePrice(input: GradedPriceInput): PriceGrade {
  const { taken, close, fairProbability } = input
  const { band, value, isCapped } = bandPrice({ taken, close, fairProbability })
  const common = { band, beatClose: taken > close, gradeMargin: gradeMargin(value), isCapped }
  if (fairProbability === undefined) return { basis: 'price', ...common, price: value }
  return {
    basis: 'fair',
    ...common,
    price: priceClv(input),
    fair: value,
    log: logClv({ taken, fairProbability }),
    points: pointsClv({ taken, fairProbability }),
  }
}
