/** The published part of the truth table: the answer of `/api/calibration` and the figures on cards. */
import { getOrMake } from '@tallystick/service-kit'
import type { CalibrationAnswer, CalibrationFilters } from '../../wire/calibration.ts'
import { basisSchema, type CardCalibration, populationSchema } from '../../wire/cards.ts'
import type { GradingStore } from '../closes/grading-store.ts'
import { toHex } from '../closes/ledger-entry.ts'
import type { GradeContext } from '../grading/grade-pick.ts'
import { CHANCE_MIN } from './calibration-verdict.ts'
import { REFERENCE_STUDY } from './reference-study.ts'
import {
  calibrationColumn,
  calibrationRow,
  LOW_SAMPLE_BELOW,
  LOW_SAMPLE_WIDTH,
  publishedColumn,
  publishedRow,
} from './truth-rows.ts'
import { bandKey, SCOPE_ALL, SCOPE_SYNTHETIC, type TruthTable } from './truth-table.ts'

const METHODOLOGY =
  'ROI of flat stakes on settled picks, by the band of their grade against the close; intervals are clustered by event. mechanical: every recorded price before the close, of every selection. committed: picks received and committed before their start. The two are never merged. Void bets are not counted, nor are prices that came after a result or a recorded start. The verdict is a joint test of all six gaps and one of slope and intercept, from exact sums. Figures are rounded to a unit of stake over their picks, so that no single price can be read from them.'

/** A band's figures for cards, computed once per ledger state. */
export function createCardFigures() {
  let cached: { readonly truth: TruthTable; readonly asOfSeq: number } | undefined
  const rows = new Map<string, CardCalibration>()
  return (truth: TruthTable) =>
    ({ band, basis, isSynthetic }: Parameters<GradeContext['calibration']>[0]): CardCalibration => {
      if (cached?.truth !== truth || cached.asOfSeq !== truth.asOfSeq) {
        rows.clear()
        cached = { truth, asOfSeq: truth.asOfSeq }
      }
      const scope = isSynthetic ? SCOPE_SYNTHETIC : SCOPE_ALL
      const cell = { population: 'mechanical', basis, scope, band } as const
      return getOrMake(rows, bandKey(cell), () => {
        const row = publishedRow(calibrationRow(band, truth.cells.get(bandKey(cell))))
        const { n, roi, roi_ci95, expected_roi, low_sample } = row
        const figures = { n, roi, roi_ci95, expected_roi, low_sample, as_of_seq: truth.asOfSeq }
        return { band, basis, population: cell.population, scope, ...figures }
      })
    }
}

/** The truth table as published. */
export async function calibrationAnswer(
  store: GradingStore,
  filters: CalibrationFilters,
): Promise<CalibrationAnswer> {
  const [truth, head] = await Promise.all([store.truth(), store.head()])
  const scopes = [...new Set([...truth.cells.keys()].map((key) => key.split(' ')[2] ?? ''))]
  // A ledger that holds only synthetic closes answers with those, and says so in `scope`.
  const isSynthetic = scopes.length > 0 && !scopes.includes(SCOPE_ALL)
  const { scope = isSynthetic ? SCOPE_SYNTHETIC : SCOPE_ALL } = filters
  return {
    columns: populationSchema.options
      .filter((population) => (filters.population ?? population) === population)
      .flatMap((population) =>
        basisSchema.options
          .filter((basis) => (filters.basis ?? basis) === basis)
          .map((basis) => publishedColumn(calibrationColumn(truth, { population, basis, scope }))),
      ),
    scopes: scopes.toSorted(),
    ledger: { as_of_seq: head.size, root: toHex(head.rootHash) },
    low_sample_width: LOW_SAMPLE_WIDTH,
    low_sample_below: LOW_SAMPLE_BELOW,
    chance_min: CHANCE_MIN,
    methodology: METHODOLOGY,
    reference_study: REFERENCE_STUDY,
  }
}
