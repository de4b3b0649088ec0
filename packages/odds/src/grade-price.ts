/**
 * The grade of one price against the recorded close of its selection. It knows nothing of markets, lines or results,
 * and it never makes up a close: without one there is nothing to call it with.
 */
import { fairClv } from './fair-clv.ts'
import { gradeBand } from './grade-band.ts'
import type { GradeBand } from './grade-bands.ts'
import { gradeMargin } from './grade-margin.ts'
import { logClv } from './log-clv.ts'
import { pointsClv } from './points-clv.ts'
import { priceClv } from './price-clv.ts'

/** A price taken and the close that it is graded against. */
export type GradedPriceInput = {
  /** Decimal odds taken, above 1. */
  readonly taken: number
  /** Decimal closing odds of the same selection on the same line, above 1. */
  readonly close: number
  /** The selection's closing probability without margin; left out where only its own price is recorded. */
  readonly fairProbability?: number
  /** Share of the stake that is expected not to be refunded, for lines that can push; 1 where it is not known. */
  readonly exposure?: number
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

/** The bands that a price below its close may not have. */
const isAboveC = (band: GradeBand): boolean => band === 'A+' || band === 'A' || band === 'B'

/**
 * Grades a price. The band is that of the fair CLV (times the exposure where that is given), or of the price CLV where
 * no fair probability is recorded. A price below the close never grades above C: at a booksum below 1, or within the
 * rounding of 1e-9, its value could be 0 or more.
 */
export function gradePrice(input: GradedPriceInput): PriceGrade {
  const { taken, close, fairProbability } = input
  const price = priceClv({ taken, close })
  const fair =
    fairProbability === undefined
      ? undefined
      : (input.exposure ?? 1) * fairClv({ taken, fairProbability })
  const value = fair ?? price
  const uncapped = gradeBand(value)
  const isCapped = taken < close && isAboveC(uncapped)
  const common = {
    band: isCapped ? ('C' as const) : uncapped,
    price,
    beatClose: taken > close,
    gradeMargin: gradeMargin(value),
    isCapped,
  }
  if (fair === undefined || fairProbability === undefined) return { basis: 'price', ...common }
  return {
    basis: 'fair',
    ...common,
    fair,
    log: logClv({ taken, fairProbability }),
    points: pointsClv({ taken, fairProbability }),
  }
}
