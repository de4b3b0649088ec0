import { describe, expect, test } from 'vitest'
import vectors from '../vectors/football-lines.json' with { type: 'json' }
import { type FootballClose, fitFootballClose } from './fit-football-close.ts'
import { stakeShares } from './stake-shares.ts'

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
