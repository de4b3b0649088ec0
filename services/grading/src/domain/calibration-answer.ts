/** The truth table, as it goes over the wire (snake_case). Fractions: 0.05 is 5 %. */
import type { GradeBand } from '@tallystick/odds'
import type { GradeBasis, Population } from './card.ts'

/** One band of one column. */
export type CalibrationRow = {
  readonly band: GradeBand
  /** Settled picks; void ones are not counted. */
  readonly n: number
  /** Events that they are on: what settles together is one observation. */
  readonly events: number
  readonly wins: number
  readonly half_wins: number
  readonly pushes: number
  readonly half_losses: number
  readonly losses: number
  readonly dead_heats: number
  readonly win_rate: number | null
  readonly roi: number | null
  /** Clustered by event; null below two events. */
  readonly roi_ci95: readonly [number, number] | null
  /** Mean closing-line value: what the grades promised. */
  readonly expected_roi: number | null
  /** (roi - expected_roi) over its clustered standard error. */
  readonly gap_z: number | null
  readonly low_sample: boolean
}

/** Least squares of return on closing-line value; calibrated is a slope of 1 and an intercept of 0. */
export type CalibrationLine = {
  readonly slope: number
  readonly intercept: number
  readonly slope_se: number
  readonly intercept_se: number
}

/** One basis of one population. */
export type CalibrationColumn = {
  readonly population: Population
  readonly basis: GradeBasis
  readonly scope: string
  readonly bands: readonly CalibrationRow[]
  readonly total: { readonly n: number; readonly events: number; readonly roi: number | null }
  readonly line: CalibrationLine | null
}

/** Which columns are wanted; everything where left out. */
export type CalibrationFilters = {
  readonly population?: Population
  readonly basis?: GradeBasis
  /** `all`, `soccer/1x2`, `soccer/1x2/pinnacle`, `synthetic`; `synthetic` by default where nothing else is there. */
  readonly scope?: string
}

/** What `/api/calibration` answers. */
export type CalibrationAnswer = {
  readonly columns: readonly CalibrationColumn[]
  /** Scopes that there are. */
  readonly scopes: readonly string[]
  /** Entries counted, and the ledger's root then, hex. */
  readonly ledger: { readonly as_of_seq: number; readonly root: string }
  readonly low_sample_below: number
  readonly methodology: string
}
