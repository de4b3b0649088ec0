/** A column of the truth table in words. */
import type { CalibrationTest, CalibrationColumn as Column } from '../../wire/calibration.ts'
import { counted, number, percent, signedPercent } from '../figures.ts'

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
  const [sport, type, book] = scope.replaceAll('_', ' ').split('/')
  return [sport, type, book === undefined ? undefined : `by ${book}`].filter(Boolean).join(' · ')
}

const VERDICTS: Readonly<Record<Column['verdict'], string>> = {
  none: 'No such pick has settled yet.',
  too_few: 'Too few settled picks to say whether the grades come true.',
  came_true: 'The grades came true: promise and return agree within chance, over all six at once.',
  promised_too_much: 'The grades promised too much: returns lie below what was promised.',
  promised_too_little: 'The grades promised too little: returns moved more than was promised.',
  uneven: 'Some grades returned other than promised, though neither all more nor all less.',
}

export const VERDICT_TONES: Readonly<Record<Column['verdict'], 'good' | 'warn' | 'bad' | ''>> = {
  none: '',
  too_few: '',
  came_true: 'good',
  promised_too_much: 'bad',
  promised_too_little: 'warn',
  uneven: 'warn',
}

/** A test's chance; a tiny one is not shown as zero. */
export const chanceWords = (chance: number): string =>
  chance < 0.0005 ? 'under 0.1\u00a0%' : percent(chance)

export const lineVerdict = ({ verdict }: Pick<Column, 'verdict'>): string => VERDICTS[verdict]

/** One of the two tests: its chance, what it tests, and whether it counts against the grades. */
export function testWords(test: CalibrationTest, chanceMin: number) {
  const { chi_square: chiSquare, degrees, p } = test
  return {
    chance: chanceWords(p),
    statistic: `χ² ${number(chiSquare, 1)} on ${counted(degrees, 'degree')} of freedom`,
    reading:
      p < chanceMin
        ? `Less than the ${percent(chanceMin)} that chance is granted: departs.`
        : `Not less than ${percent(chanceMin)}: within chance.`,
  }
}

/** Slope and intercept in words, and what the letters overstate here. */
export function lineWords({
  line,
  statement,
  total,
}: Pick<Column, 'line' | 'statement' | 'total'>): string {
  if (line === null) return statement ?? ''
  const { slope, intercept } = line
  const [slopeWidth, interceptWidth] = [line.slope_se, line.intercept_se].map(
    (error) => DEVIATIONS_95 * error,
  )
  const picks = `${counted(total.n, 'settled pick')} on ${counted(total.events, 'event')}`
  return `Over ${picks}, each point of value promised came back as ${number(slope)} points (slope, ±${number(slopeWidth ?? 0)}), and a price worth exactly nothing returned ${signedPercent(intercept)} (intercept, ±${number((interceptWidth ?? 0) * 100, 1)} points). Perfect is a slope of 1 and an intercept of 0; both ranges are 95\u00a0%, with all picks of one event counted as one observation.${statement === null ? '' : ` ${statement}`}`
}
