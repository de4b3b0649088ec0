/**
 * Whether the grades in a column of the truth table came true, and what its letters overstate. Exact figures decide:
 * published ones are rounded, errors upwards, and would hide small departures.
 */
import { DEVIATIONS_95 } from '@tallystick/odds'
import type { CalibrationColumn, CalibrationLine } from '../../wire/calibration.ts'

/** Below this many events, intervals, gaps and lines are noise, and their sums of squares would reveal prices. */
export const EVENTS_MIN = 30

/** A slope that could be anything from a half to one and a half says nothing about calibration. */
const SLOPE_WIDTH_MAX = 0.5

/** Two tests are made, the gaps' and the line's: calibrated grades fail either in 5 % of all cases. */
export const CHANCE_MIN = 0.025

/** Which way the line departs from return = value. */
function missDirection({ intercept, intercept_se: error, slope }: CalibrationLine) {
  const isInterceptNone = Math.abs(intercept) <= DEVIATIONS_95 * error
  const isTooMuch = isInterceptNone ? slope < 1 : intercept < 0
  return isTooMuch ? 'promised_too_much' : 'promised_too_little'
}

/** The verdict on a column, by all its gaps at once and by slope and intercept at once. */
export function columnVerdict(
  column: Pick<CalibrationColumn, 'joint' | 'line' | 'total'>,
): CalibrationColumn['verdict'] {
  const { joint, line, total } = column
  if (total.n === 0) return 'none'
  const isFew = total.events < EVENTS_MIN || line === null || joint === null
  if (isFew || DEVIATIONS_95 * line.slope_se > SLOPE_WIDTH_MAX) return 'too_few'
  if (joint.line.p < CHANCE_MIN) return missDirection(line)
  return joint.gaps.p < CHANCE_MIN ? 'uneven' : 'came_true'
}

/** From here on refunds are worth a sentence. */
const REFUNDED_MIN = 0.01

const percent = (fraction: number): string => `${(fraction * 100).toFixed(1)} %`

/** What the letters of a scope overstate: bets on whole and quarter lines may risk only part of their stake. */
export function refundStatement(refunded: number | null): string | null {
  if (refunded === null || refunded < REFUNDED_MIN) return null
  return `${percent(refunded)} of the stakes here came back, as whole and quarter lines refund them. Values count the part of a stake that stands, so the letters overstate gains and losses by that share on average: a value of 4 % is ${percent(0.04 * (1 - refunded))} of the whole stake.`
}
