/** The truth table as rows for people: rates, clustered intervals, gaps and the regression. O(bands) per column. */
import {
  clusterInterval,
  DEVIATIONS_95,
  GRADE_BANDS,
  type GradeBand,
  jointTest,
} from '@tallystick/odds'
import type {
  CalibrationColumn,
  CalibrationLine,
  CalibrationRow,
  CalibrationTest,
} from '../../wire/calibration.ts'
import { columnVerdict, EVENTS_MIN, refundStatement } from './calibration-verdict.ts'
import {
  bandKey,
  type Cell,
  type Column,
  lineKey,
  MICRO,
  noBand,
  secondMoment,
  type TruthTable,
} from './truth-table.ts'

/** A 95 % interval that reaches further than this to either side is a low sample: neighbouring bands are 4 points apart. */
export const LOW_SAMPLE_WIDTH = 0.02
/** About as many settled picks as an interval that narrow needs. */
export const LOW_SAMPLE_BELOW = 17_000

/** Totals of returns (1) or values (2) over events, in the units of the picks. */
function clusterTotals({ moments }: Cell, i: 1 | 2) {
  return {
    clusters: moments.clusters,
    count: Number(moments.first[0] ?? 0n),
    sum: Number(moments.first[i] ?? 0n) / MICRO,
    sumSquared: secondMoment(moments, { i, j: i }) / MICRO / MICRO,
    sumTimesCount: secondMoment(moments, { i: 0, j: i }) / MICRO,
    countSquared: secondMoment(moments, { i: 0, j: 0 }),
  }
}

/** The distance of realised returns from the grades' promise, in clustered standard errors. */
function gapDeviations(sums: Cell): number | null {
  const { moments } = sums
  const [returns, values] = [clusterTotals(sums, 1), clusterTotals(sums, 2)]
  const cross = secondMoment(moments, { i: 1, j: 2 }) / MICRO / MICRO
  const gap = clusterInterval({
    clusters: returns.clusters,
    count: returns.count,
    sum: returns.sum - values.sum,
    sumSquared: returns.sumSquared - 2 * cross + values.sumSquared,
    sumTimesCount: returns.sumTimesCount - values.sumTimesCount,
    countSquared: returns.countSquared,
  })
  return gap.kind === 'mean' && gap.standardError > 0 ? gap.mean / gap.standardError : null
}

export function calibrationRow(band: GradeBand, sums: Cell = noBand()): CalibrationRow {
  const { results, moments } = sums
  const n = Number(moments.first[0] ?? 0n)
  const perPick = (total: number): number | null => (n === 0 ? null : total / n)
  const mean = clusterInterval(clusterTotals(sums, 1), DEVIATIONS_95)
  return {
    band,
    n,
    events: moments.clusters,
    wins: results.won,
    half_wins: results.half_won,
    pushes: results.push,
    half_losses: results.half_lost,
    losses: results.lost,
    dead_heats: results.dead_heat,
    win_rate: perPick(results.won),
    roi: perPick(Number(moments.first[1] ?? 0n) / MICRO),
    roi_ci95: mean.kind === 'mean' ? [mean.low, mean.high] : null,
    expected_roi: perPick(Number(moments.first[2] ?? 0n) / MICRO),
    gap_z: gapDeviations(sums),
    low_sample: mean.kind !== 'mean' || mean.high - mean.mean > LOW_SAMPLE_WIDTH,
  }
}

/** Scales the moments of (1, x, y, x², xy) to fractions: place k has this power of a millionth. */
const POWERS = [0, 1, 1, 2, 2]
const power = (place: number): number => MICRO ** (POWERS[place] ?? 0)

/** A line with the covariance of its slope and intercept. */
type FittedLine = { readonly line: CalibrationLine; readonly covariance: number }

/** Least squares of return on value with clustered standard errors, from the sums alone. */
function fittedLine(sums: Cell | undefined): FittedLine | null {
  if (sums === undefined) return null
  const { moments } = sums
  const first = (place: number): number => Number(moments.first[place] ?? 0n) / power(place)
  const second = (i: number, j: number): number =>
    secondMoment(moments, { i, j }) / power(i) / power(j)
  const [n, x, y, xx, xy] = [first(0), first(1), first(2), first(3), first(4)]
  const spread = xx - (x * x) / n
  const { clusters } = moments
  if (n < 3 || clusters < 2 || !(spread > 0)) return null
  const slope = (xy - (x * y) / n) / spread
  const intercept = (y - slope * x) / n
  // Per event: plain = Σu = Y - a N - b X, weighted = Σxu = XY - a X - b XX. Their squares and product are sums of products.
  const plain = [-intercept, -slope, 1, 0, 0]
  const weighted = [0, -intercept, 0, -slope, 1]
  const product = (left: readonly number[], right: readonly number[]): number => {
    let sum = 0
    for (const [i, a] of left.entries())
      for (const [j, b] of right.entries()) if (a !== 0 && b !== 0) sum += a * b * second(i, j)
    return sum
  }
  const [meanX, factor] = [x / n, ((clusters / (clusters - 1)) * (n - 1)) / (n - 2)]
  const pp = product(plain, plain)
  const pw = product(plain, weighted)
  const ww = product(weighted, weighted)
  // The centred score is weighted - mean x · plain.
  const centred = ww - 2 * meanX * pw + meanX * meanX * pp
  const plainCentred = pw - meanX * pp
  const interceptVariance =
    pp / (n * n) -
    (2 * meanX * plainCentred) / (n * spread) +
    (meanX * meanX * centred) / (spread * spread)
  return {
    line: {
      slope,
      intercept,
      slope_se: Math.sqrt(Math.max(0, factor * centred)) / spread,
      intercept_se: Math.sqrt(Math.max(0, factor * interceptVariance)),
    },
    covariance: factor * (plainCentred / (n * spread) - (meanX * centred) / (spread * spread)),
  }
}

const testOnWire = (test: ReturnType<typeof jointTest>): CalibrationTest | null =>
  test.kind === 'insufficient'
    ? null
    : { chi_square: test.chiSquare, degrees: test.degrees, p: test.probability }

/** Whether all bands returned what they promised: their gaps at once, with the variance of events under that claim. */
function gapsTest({ gaps }: Cell): CalibrationTest | null {
  const places = GRADE_BANDS.map((_band, place) => place)
  return testOnWire(
    jointTest({
      estimates: places.map((i) => Number(gaps.first[i] ?? 0n) / MICRO),
      covariance: places.map((i) =>
        places.map((j) => secondMoment(gaps, { i, j }) / MICRO / MICRO),
      ),
    }),
  )
}

/** Whether slope and intercept are 1 and 0, both at once. */
const lineTest = ({ covariance, line }: FittedLine): CalibrationTest | null =>
  testOnWire(
    jointTest({
      estimates: [line.slope - 1, line.intercept],
      covariance: [
        [line.slope_se ** 2, covariance],
        [covariance, line.intercept_se ** 2],
      ],
    }),
  )

/** The share of all stakes refunded: whole in a push, half in a half result. */
function refundedShare(bands: readonly CalibrationRow[]): number | null {
  let [n, refunded] = [0, 0]
  for (const row of bands) {
    n += row.n
    refunded += row.pushes + (row.half_wins + row.half_losses) / 2
  }
  return n === 0 ? null : refunded / n
}

/** One column: all bands of a population and basis within a scope. */
export function calibrationColumn(truth: TruthTable, column: Column): CalibrationColumn {
  const bands = GRADE_BANDS.map(({ band }) =>
    calibrationRow(band, truth.cells.get(bandKey({ ...column, band }))),
  )
  const sums = truth.cells.get(lineKey(column))
  const n = Number(sums?.moments.first[0] ?? 0n)
  const total = {
    n,
    events: sums?.moments.clusters ?? 0,
    roi: n === 0 ? null : Number(sums?.moments.first[2] ?? 0n) / MICRO / n,
  }
  const fitted = fittedLine(sums)
  const [gaps, along] = [
    sums === undefined ? null : gapsTest(sums),
    fitted === null ? null : lineTest(fitted),
  ]
  const joint = gaps === null || along === null ? null : { gaps, line: along }
  const line = fitted?.line ?? null
  const refunded = refundedShare(bands)
  return {
    ...column,
    bands,
    total,
    line,
    joint,
    verdict: columnVerdict({ total, line, joint }),
    refunded,
    statement: refundStatement(refunded),
  }
}

/** A winner's return is its price minus one; rounded to a whole unit, it could be any price. */
const RETURN_UNITS = 1
/** A band is 4 points of value wide, and public anyway. */
const VALUE_UNITS = 0.25
/** Deviations and chi-squares are rounded to a tenth, chances to a thousandth. */
const DEVIATION_STEP = 0.1
const CHANCE_STEP = 0.001
/** The binary residue of rounding to a step. */
const DIGITS = 12

type Rounding = (value: number) => number

const withoutNoise = (value: number): number => Number(value.toPrecision(DIGITS))

const inSteps = (value: number, step: number, round: Rounding = Math.round): number => {
  const rounded = withoutNoise(round(value / step) * step)
  return rounded === 0 ? 0 : rounded
}

const orNull = (value: number | null, step: number): number | null =>
  value === null ? null : inSteps(value, step)

/** A band's figures as published. */
export function publishedRow(row: CalibrationRow): CalibrationRow {
  const { events, expected_roi: expected, gap_z: gap, n, roi, roi_ci95: interval } = row
  const { win_rate: winRate } = row
  const isFew = events < EVENTS_MIN
  if (n === 0) return row
  const step = RETURN_UNITS / n
  return {
    ...row,
    // Exact: `n` and `wins` reveal it anyway.
    win_rate: winRate === null ? null : withoutNoise(winRate),
    roi: orNull(roi, step),
    // Rounds outwards, so that the interval still covers what it covered.
    roi_ci95:
      isFew || interval === null
        ? null
        : [inSteps(interval[0], step, Math.floor), inSteps(interval[1], step, Math.ceil)],
    expected_roi: orNull(expected, VALUE_UNITS / n),
    gap_z: isFew ? null : orNull(gap, DEVIATION_STEP),
  }
}

/** The power of ten at or below a standard error, but never finer than one unit over all picks, even for a perfect fit. */
const roundingStep = (standardError: number, n: number): number =>
  Math.max(10 ** Math.floor(Math.log10(standardError)), RETURN_UNITS / n)

function publishedLine(line: CalibrationLine, n: number): CalibrationLine {
  const { intercept, intercept_se: interceptError, slope, slope_se: slopeError } = line
  const [slopeStep, interceptStep] = [roundingStep(slopeError, n), roundingStep(interceptError, n)]
  return {
    slope: inSteps(slope, slopeStep),
    intercept: inSteps(intercept, interceptStep),
    slope_se: inSteps(slopeError, slopeStep, Math.ceil),
    intercept_se: inSteps(interceptError, interceptStep, Math.ceil),
  }
}

const publishedTest = ({
  chi_square: chiSquare,
  degrees,
  p,
}: CalibrationTest): CalibrationTest => ({
  chi_square: inSteps(chiSquare, DEVIATION_STEP),
  degrees,
  p: inSteps(p, CHANCE_STEP),
})

/** A column's figures as published. Its verdict comes from the figures before rounding. */
export function publishedColumn(column: CalibrationColumn): CalibrationColumn {
  const { bands, joint, line, refunded, total } = column
  const isFew = total.events < EVENTS_MIN
  return {
    ...column,
    bands: bands.map(publishedRow),
    total: total.n === 0 ? total : { ...total, roi: orNull(total.roi, RETURN_UNITS / total.n) },
    line: line === null || isFew ? null : publishedLine(line, total.n),
    joint:
      joint === null || isFew
        ? null
        : { gaps: publishedTest(joint.gaps), line: publishedTest(joint.line) },
    // Exact: the counts of results reveal it anyway.
    refunded: refunded === null ? null : withoutNoise(refunded),
  }
}
