import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import vectors from '../vectors/football-lines.json' with { type: 'json' }
import golden from '../vectors/golden.json' with { type: 'json' }
import {
  type FootballClose,
  type FootballFit,
  type FootballLineBet,
  fitFootballClose,
  footballLineValue,
  marginMasses,
  mirrorMargins,
  poissonMasses,
} from './football-line.ts'
import { gradeBand } from './grade-price.ts'
import { stakeShares } from './settlement.ts'
import { fairProbabilities } from './testing/fair-probabilities.ts'

type Written<Shape> = { [Name in keyof Shape]: string }

/** A close of the vectors, as numbers. */
const closeOf = (written: {
  handicap: Written<FootballClose['handicap']>
  total: Written<FootballClose['total']>
}): FootballClose => ({
  handicap: {
    line: Number(written.handicap.line),
    home: Number(written.handicap.home),
    away: Number(written.handicap.away),
  },
  total: {
    line: Number(written.total.line),
    over: Number(written.total.over),
    under: Number(written.total.under),
  },
})

const level: FootballClose = {
  handicap: { line: 0, home: 1.95, away: 1.95 },
  total: { line: 2.5, over: 1.95, under: 1.95 },
}

describe('fitFootballClose', () => {
  test.for(vectors)('agrees to 1e-11 with 60 digits: $name', (vector) => {
    expect(fitFootballClose(closeOf(vector))).toMatchObject({
      kind: 'fitted',
      expectedGoals: expect.closeTo(Number(vector.expectedGoals), 11),
      supremacy: expect.closeTo(Number(vector.supremacy), 11),
    })
  })

  test('a level close has no supremacy and symmetric margins', () => {
    const fit = fitFootballClose(level)
    expect(fit).toMatchObject({ kind: 'fitted', supremacy: expect.closeTo(0, 13) })
    const { won, lost } =
      fit.kind === 'fitted' ? stakeShares({ margins: fit.margins, line: 0 }) : { won: 1, lost: 0 }
    expect(won).toBeCloseTo(lost, 13)
  })

  test('a shorter home price or a deeper home line means more supremacy', () => {
    const supremacyOf = (handicap: FootballClose['handicap']): number => {
      const fit = fitFootballClose({ ...level, handicap })
      return fit.kind === 'fitted' ? fit.supremacy : Number.NaN
    }
    const plain = supremacyOf(level.handicap)
    expect(supremacyOf({ line: 0, home: 1.8, away: 2.1 })).toBeGreaterThan(plain)
    expect(supremacyOf({ line: -0.25, home: 1.95, away: 1.95 })).toBeGreaterThan(plain)
  })

  test.for([
    { close: { ...level, handicap: { line: 0.1, home: 1.9, away: 1.9 } }, reason: 'line' },
    { close: { ...level, total: { line: Number.NaN, over: 1.9, under: 1.9 } }, reason: 'line' },
    { close: { ...level, handicap: { line: 0, home: 1, away: 1.9 } }, reason: 'handicap_prices' },
    { close: { ...level, total: { line: 2.5, over: 1.2, under: 1.2 } }, reason: 'total_prices' },
    { close: { ...level, total: { line: 40, over: 1.9, under: 1.9 } }, reason: 'no_fit' },
    { close: { ...level, total: { line: 0, over: 1.9, under: 1.9 } }, reason: 'no_fit' },
    { close: { ...level, handicap: { line: -9, home: 1.9, away: 1.9 } }, reason: 'no_fit' },
  ])('refuses as $reason: $close', ({ close, reason }) => {
    expect(fitFootballClose(close)).toEqual({ kind: 'refused', reason })
  })
})

const fitOf = (written: {
  handicap: { line: string; home: string; away: string }
  total: { line: string; over: string; under: string }
}): FootballFit => {
  const { handicap, total } = written
  const fit = fitFootballClose({
    handicap: { line: +handicap.line, home: +handicap.home, away: +handicap.away },
    total: { line: +total.line, over: +total.over, under: +total.under },
  })
  if (fit.kind !== 'fitted') throw new Error(fit.reason)
  return fit
}

const sides: readonly string[] = ['home', 'away', 'over', 'under']
const isSide = (text: string): text is FootballLineBet['side'] => sides.includes(text)
const sideOf = (text: string): FootballLineBet['side'] => {
  if (!isSide(text)) throw new Error(`no side: ${text}`)
  return text
}

const all = vectors.flatMap((vector) => vector.bets.map((bet) => ({ vector, ...bet })))

describe('footballLineValue', () => {
  test.for(all)('agrees to 1e-11 with 60 digits: $vector.name, $side $line @$odds', (vector) => {
    const bet = { side: sideOf(vector.side), line: Number(vector.line), odds: Number(vector.odds) }
    const found = footballLineValue(fitOf(vector.vector), bet)
    expect(found.won).toBeCloseTo(Number(vector.won), 11)
    expect(found.lost).toBeCloseTo(Number(vector.lost), 11)
    expect(found.value).toBeCloseTo(Number(vector.value), 11)
  })

  test.for(golden.moved_lines)('golden, by value and not by price: $name', (vector) => {
    const [home = '', away = ''] = vector.close_ah
    const [over = '', under = ''] = vector.close_ou25
    const fit = fitOf({
      handicap: { line: vector.close_line, home, away },
      total: { line: '2.5', over, under },
    })
    const bet = {
      side: sideOf(vector.side),
      line: Number(vector.taken_line),
      odds: Number(vector.taken),
    }
    const { value } = footballLineValue(fit, bet)
    expect(value).toBeCloseTo(Number(vector.ev_close), 10)
    expect(gradeBand(value)).toBe(vector.grade)
  })

  test('on the closing line itself it is the exposed value of the closing pair', () => {
    for (const vector of vectors) {
      const fit = fitOf(vector)
      const line = Number(vector.handicap.line)
      const { won, lost, value } = footballLineValue(fit, { side: 'home', line, odds: 2 })
      const [winShare = 0] = fairProbabilities([+vector.handicap.home, +vector.handicap.away])
      expect(value).toBeCloseTo((won + lost) * (2 * winShare - 1), 12)
    }
  })

  test('a better line is worth more, at every quarter', () => {
    const fit = fitOf(vectors[0] as (typeof vectors)[number])
    for (const { side, better } of [
      { side: 'home', better: 1 },
      { side: 'away', better: 1 },
      { side: 'over', better: -1 },
      { side: 'under', better: 1 },
    ] as const)
      for (let line = 0.25; line <= 4; line += 0.25) {
        const worse = footballLineValue(fit, { side, line, odds: 1.9 }).value
        const gained = footballLineValue(fit, { side, line: line + better * 0.25, odds: 1.9 }).value
        expect(gained).toBeGreaterThan(worse)
      }
  })

  test('a line that is not a multiple of 0.25 throws a RangeError', () => {
    const fit = fitOf(vectors[0] as (typeof vectors)[number])
    expect(() => footballLineValue(fit, { side: 'home', line: 0.3, odds: 2 })).toThrow(RangeError)
  })
})

test('mean and variance equal the requested mean', () => {
  fc.assert(
    fc.property(fc.double({ min: 0.01, max: 10, noNaN: true }), (mean) => {
      const masses = poissonMasses({ mean, most: 60 })
      let [sum, first, second] = [0, 0, 0]
      for (const [count, mass] of masses.entries()) {
        sum += mass
        first += count * mass
        second += (count - mean) ** 2 * mass
      }
      expect(sum).toBeCloseTo(1, 12)
      expect(first).toBeCloseTo(mean, 10)
      expect(second).toBeCloseTo(mean, 9)
    }),
  )
})

test('no event at mean 1 has probability 1/e', () => {
  expect(poissonMasses({ mean: 1, most: 0 })).toEqual([Math.exp(-1)])
})

test('counts every pair of scores once, at home goals minus away goals', () => {
  const { lowest, masses } = marginMasses({ home: [0.5, 0.3, 0.2], away: [0.6, 0.4] })
  expect(lowest).toBe(-1)
  const expected = [0.5 * 0.4, 0.5 * 0.6 + 0.3 * 0.4, 0.3 * 0.6 + 0.2 * 0.4, 0.2 * 0.6]
  expect(masses).toHaveLength(4)
  for (const [index, mass] of expected.entries()) expect(masses[index]).toBeCloseTo(mass, 15)
})

test('margin m becomes -m', () => {
  const margins = { lowest: -1, masses: [0.1, 0.2, 0.3, 0.4] }
  expect(mirrorMargins(margins)).toEqual({ lowest: -2, masses: [0.4, 0.3, 0.2, 0.1] })
  expect(mirrorMargins(mirrorMargins(margins))).toEqual(margins)
})
