/** What `GET /api/methods` answers: how a price is graded, in figures, with our golden vectors computed by this process. */
import {
  GRADE_BANDS,
  type GradeBand,
  gradePrice,
  type MarginMethod,
  type PriceGrade,
  removeMargin,
  SHARP_SCORE_MODEL,
} from '@tallystick/odds'
import golden from '../../../vectors/golden-grades.json' with { type: 'json' }
import { FLAG_MEANINGS, UNGRADED_MEANINGS } from '../../wire/card-codes.ts'
import type { MethodsAnswer } from '../../wire/methods.ts'
import { LOW_SAMPLE_BELOW } from '../calibration/truth-rows.ts'
import { REFERENCE_ORDER } from '../closes/reference-close.ts'
import { MARKET_TYPES, marketShape } from '../markets/markets.ts'
import { DEFAULT_GRADE_OPTIONS } from '../markets/pick-request.ts'

type Vector = (typeof golden.grades)[number]

const METHODS: Readonly<Record<MarginMethod, string>> = {
  power: 'p = (1/o)^k, with k such that the probabilities sum to one',
  shin: 'Shin’s share of insider money',
  odds_ratio: 'one odds ratio between prices and probabilities',
  multiplicative: 'p = (1/o) over the sum of all 1/o',
  additive: 'the same amount taken off every 1/o',
}

/** Vectors are given to twelve digits and more. */
const AGREES_WITHIN = 1e-12

const BILLION = 1e9

/** The grade of a price on one of a close's selections. */
export function gradeAtClose(
  close: readonly number[],
  pick: { readonly place: number; readonly taken: number },
  method: MarginMethod = DEFAULT_GRADE_OPTIONS.method,
): PriceGrade {
  const { place, taken } = pick
  const book = removeMargin(close, method)
  const fairProbability = book.kind === 'fair' ? book.probabilities[place] : undefined
  return gradePrice({ taken, close: close[place] ?? Number.NaN, fairProbability })
}

function selfTest(vector: Vector) {
  const { name, close, selection, taken, clv_price, clv_fair, grade } = vector
  const found = gradeAtClose(close.map(Number), { place: selection, taken: Number(taken) })
  const fair = found.basis === 'fair' ? found.fair : Number.NaN
  const agrees =
    found.band === grade &&
    Math.abs(found.price - Number(clv_price)) <= AGREES_WITHIN &&
    Math.abs(fair - Number(clv_fair)) <= AGREES_WITHIN
  return {
    name,
    close: [...close],
    selection,
    taken,
    expected: { grade: grade as GradeBand, price: Number(clv_price), fair: Number(clv_fair) },
    found: { grade: found.band, price: found.price, fair },
    agrees,
  }
}

/** Constant while a process runs. */
export function methodsAnswer(): MethodsAnswer {
  const vectors = golden.grades.map(selfTest)
  return {
    bands: GRADE_BANDS.map(({ band, fromBillionths }) => ({
      band,
      from: Number.isFinite(fromBillionths) ? fromBillionths / BILLION : null,
    })),
    rules: [
      'A grade is the band of the expected value at the close without its margin, rounded to 1e-9.',
      'A price below the recorded close of its selection never grades above C.',
      'A pick is graded against the close of its own line only; what is not recorded is UNGRADED.',
    ],
    methods: Object.entries(METHODS).map(([method, what]) => ({
      method: method as MarginMethod,
      what,
      default: method === DEFAULT_GRADE_OPTIONS.method,
    })),
    reference_order: [...REFERENCE_ORDER],
    markets: MARKET_TYPES.map((type) => ({
      type,
      selections: [...(marketShape(type).selections ?? [])],
      line: marketShape(type).hasLine,
    })),
    ungraded: UNGRADED_MEANINGS,
    flags: FLAG_MEANINGS,
    sharp_score: { ...SHARP_SCORE_MODEL },
    low_sample_below: LOW_SAMPLE_BELOW,
    self_test: { agrees: vectors.every(({ agrees }) => agrees), vectors },
  }
}
