/** A column of the truth table in words. */
import type {
  CalibrationColumn as Column,
  CalibrationLine as Line,
} from '../../wire/calibration.ts'
import { counted, number, signedPercent } from '../figures.ts'

/** Normal deviations of a 95 % interval. */
const DEVIATIONS_95 = 1.96

export const POPULATION_WORDS: Readonly<Record<Column['population'], string>> = {
  mechanical:
    'Every price recorded before a close, for every selection: nobody chose them, so nothing is left out.',
  committed:
    'Picks paid for and committed to the ledger before their start, at an available price. One per payer, event and selection.',
}

export const BASIS_WORDS: Readonly<Record<Column['basis'], string>> = {
  fair: 'graded by the close without its margin',
  price: 'graded by the closing price alone; there a B still pays the margin',
}

export function scopeWords(scope: string): string {
  if (scope === 'all') return 'All real markets'
  if (scope === 'synthetic') return 'Synthetic (made up)'
  const [sport, type, book] = scope.split('/')
  return [sport, type, book === undefined ? undefined : `by ${book}`].filter(Boolean).join(' · ')
}

/** A slope that could be anything from a half to one and a half says nothing about calibration. */
const SLOPE_WIDTH_MAX = 0.5

const isSlopeOne = ({ slope, slope_se: error }: Line): boolean =>
  Math.abs(slope - 1) <= DEVIATIONS_95 * error
const isInterceptNone = ({ intercept, intercept_se: error }: Line): boolean =>
  Math.abs(intercept) <= DEVIATIONS_95 * error

/** The verdict in one sentence. */
export function lineVerdict({ line, total }: Pick<Column, 'line' | 'total'>): string {
  if (total.n === 0) return 'No such pick has settled yet.'
  if (line === null || DEVIATIONS_95 * line.slope_se > SLOPE_WIDTH_MAX)
    return 'Too few settled picks to say whether the grades come true.'
  if (isSlopeOne(line) && isInterceptNone(line))
    return 'The grades came true: promise and return agree within chance.'
  if (isInterceptNone(line))
    return line.slope > 1
      ? 'The grades promised too little: returns moved more than promised.'
      : 'The grades promised too much: returns moved less than promised.'
  return line.intercept < 0
    ? 'The grades promised too much: returns lie below what was promised.'
    : 'The grades promised too little: returns lie above what was promised.'
}

/** Slope and intercept in words. */
export function lineWords({ line, total }: Pick<Column, 'line' | 'total'>): string {
  if (line === null) return ''
  const { slope, intercept } = line
  const [slopeWidth, interceptWidth] = [line.slope_se, line.intercept_se].map(
    (error) => DEVIATIONS_95 * error,
  )
  const picks = `${counted(total.n, 'settled pick')} on ${counted(total.events, 'event')}`
  return `Over ${picks}, each point of value promised came back as ${number(slope)} points (slope, ±${number(slopeWidth ?? 0)}), and a price worth exactly nothing returned ${signedPercent(intercept)} (intercept, ±${number((interceptWidth ?? 0) * 100, 1)} points). Perfect is a slope of 1 and an intercept of 0; both ranges are 95\u00a0%, with all picks of one event counted as one observation.`
}
