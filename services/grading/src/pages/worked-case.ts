/**
 * The method page's figures, computed by the functions that grade picks: none is typed in. The case is the one in the
 * service's document: a bet that won at a price worse than the close.
 */
import {
  booksum,
  edgeAndLuck,
  GRADE_BANDS,
  type MarginMethod,
  type PriceGrade,
  removeMargin,
  sharpScore,
} from '@tallystick/odds'
import { gradeAtClose } from '../domain/grading/methods.ts'
import { methodSchema } from '../wire/cards.ts'

/** Closing prices of home, draw and away. */
export const CASE_CLOSE = [2.05, 3.55, 3.9] as const
/** Taken on home, which won 2–1. */
const TAKEN = 1.95
/** Taken on the draw: above its closing price, yet still not worth it. */
const DRAW_TAKEN = 3.6
const SELECTIONS = ['Home', 'Draw', 'Away'] as const
/** A five-pick record: closing-line values, prices and results. */
const RECORD = [
  { clv: 0.0677, odds: 2.1, returnUnits: 1.1 },
  { clv: -0.1163, odds: 1.85, returnUnits: 0.85 },
  { clv: -0.0612, odds: 1.95, returnUnits: 0.95 },
  { clv: -0.0208, odds: 1.9, returnUnits: -1 },
  { clv: -0.0625, odds: 2.2, returnUnits: -1 },
] as const

type FairGrade = Extract<PriceGrade, { basis: 'fair' }>

function fairGrade(taken: number, position: number, method?: MarginMethod): FairGrade {
  const grade = gradeAtClose(CASE_CLOSE, { place: position, taken }, method)
  if (grade.basis !== 'fair') throw new Error('the worked case is graded on the fair close')
  return grade
}

/** Everything the page shows about the case. */
export function workedCase() {
  const book = removeMargin(CASE_CLOSE)
  const record = sharpScore(RECORD)
  if (book.kind !== 'fair' || record.kind !== 'scored') throw new Error('no figures of the case')
  return {
    booksum: booksum(CASE_CLOSE),
    exponent: book.parameter,
    rows: SELECTIONS.map((selection, position) => ({
      selection,
      close: CASE_CLOSE[position] ?? 0,
      implied: 1 / (CASE_CLOSE[position] ?? 1),
      fair: book.probabilities[position] ?? 0,
    })),
    taken: TAKEN,
    won: fairGrade(TAKEN, 0),
    drawTaken: DRAW_TAKEN,
    draw: fairGrade(DRAW_TAKEN, 1),
    methods: methodSchema.options.map((method) => ({
      method,
      fair: fairGrade(TAKEN, 0, method).fair,
    })),
    bands: GRADE_BANDS.map(({ band, fromBillionths }, index) => ({
      band,
      from: fromBillionths / 1e9,
      below: (GRADE_BANDS[index - 1]?.fromBillionths ?? Infinity) / 1e9,
    })),
    record: { picks: RECORD, score: record, split: edgeAndLuck(RECORD) },
  }
}
