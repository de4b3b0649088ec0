/**
 * The truth table as anybody may read it. Its sums change by one event at a time: told exactly, the return of a winner and
 * the value of a price would give away, after each result, prices that may not be shown (G7). So a figure is told no finer
 * than some units of stake over all of its picks, which is far below its standard error however many they are: that falls
 * with the root of their number.
 */
import type { CalibrationColumn, CalibrationLine, CalibrationRow } from '../wire/calibration.ts'

/** A winner's return is its price less one: to a whole unit, it could be any price. */
const RETURN_UNITS = 1
/** A band is 4 points of value wide and known anyway. */
const VALUE_UNITS = 0.25
/** Deviations are told to a tenth. */
const DEVIATION_STEP = 0.1
/** Below this many events intervals, gaps and lines are noise, and would tell a few prices as sums of squares. */
const EVENTS_MIN = 30
/** What rounding to a step leaves behind in binary. */
const DIGITS = 12

type Rounding = (value: number) => number

const withoutNoise = (value: number): number => Number(value.toPrecision(DIGITS))

const inSteps = (value: number, step: number, round: Rounding = Math.round): number => {
  const rounded = withoutNoise(round(value / step) * step)
  return rounded === 0 ? 0 : rounded
}

const orNull = (value: number | null, step: number): number | null =>
  value === null ? null : inSteps(value, step)

/** A band's figures, as they are published. */
export function publishedRow(row: CalibrationRow): CalibrationRow {
  const { events, expected_roi: expected, gap_z: gap, n, roi, roi_ci95: interval } = row
  const { win_rate: winRate } = row
  const isFew = events < EVENTS_MIN
  if (n === 0) return row
  const step = RETURN_UNITS / n
  return {
    ...row,
    // Told exactly: whoever reads `n` and `wins` knows it.
    win_rate: winRate === null ? null : withoutNoise(winRate),
    roi: orNull(roi, step),
    // Outwards, so that it covers what it covered.
    roi_ci95:
      isFew || interval === null
        ? null
        : [inSteps(interval[0], step, Math.floor), inSteps(interval[1], step, Math.ceil)],
    expected_roi: orNull(expected, VALUE_UNITS / n),
    gap_z: isFew ? null : orNull(gap, DEVIATION_STEP),
  }
}

/** The power of ten at or below a standard error; never finer than a unit over all picks, however well they fit a line. */
const stepOf = (standardError: number, n: number): number =>
  Math.max(10 ** Math.floor(Math.log10(standardError)), RETURN_UNITS / n)

function publishedLine(line: CalibrationLine, n: number): CalibrationLine {
  const { intercept, intercept_se: interceptError, slope, slope_se: slopeError } = line
  const [slopeStep, interceptStep] = [stepOf(slopeError, n), stepOf(interceptError, n)]
  return {
    slope: inSteps(slope, slopeStep),
    intercept: inSteps(intercept, interceptStep),
    slope_se: inSteps(slopeError, slopeStep, Math.ceil),
    intercept_se: inSteps(interceptError, interceptStep, Math.ceil),
  }
}

/** A column's figures, as they are published. */
export function publishedColumn(column: CalibrationColumn): CalibrationColumn {
  const { bands, line, total } = column
  return {
    ...column,
    bands: bands.map(publishedRow),
    total: total.n === 0 ? total : { ...total, roi: orNull(total.roi, RETURN_UNITS / total.n) },
    line: line === null || total.events < EVENTS_MIN ? null : publishedLine(line, total.n),
  }
}
