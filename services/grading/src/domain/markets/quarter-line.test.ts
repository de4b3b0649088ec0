import { stakeShares } from '@tallystick/odds'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createGraderFixture } from '../../testing/grader.fixture.ts'
import {
  sampleBatch,
  sampleObservation,
  samplePick,
  samplePrices,
  scored,
} from '../../testing/samples.fixture.ts'
import { findQuarter } from './quarter-line.ts'

/** Any distribution of margins from -8 to 8. */
const margins = fc
  .array(fc.double({ min: 0.001, max: 1, noNaN: true }), { minLength: 17, maxLength: 17 })
  .map((weights) => {
    const sum = weights.reduce((total, weight) => total + weight, 0)
    return { lowest: -8, masses: weights.map((weight) => weight / sum) }
  })
const quarters = fc.integer({ min: -10, max: 10 }).map((line) => line / 2 + 0.25)

/** What a two-way pair without margin says of a line: won of won and lost. */
const pairAt = (distribution: Parameters<typeof stakeShares>[0]['margins'], line: number) => {
  const { won, lost } = stakeShares({ margins: distribution, line })
  return { probability: won / (won + lost), odds: (won + lost) / won }
}

const lines = (...all: readonly (readonly [string, string, string])[]) =>
  all.map(([market, home, away]) =>
    samplePrices({
      market,
      odds: market.startsWith('total') ? { over: home, under: away } : { home, away },
    }),
  )

const graded = async (closes: ReturnType<typeof lines>, market: string, selection: string) => {
  const fixture = createGraderFixture()
  await fixture.store.ingest(sampleBatch([sampleObservation({ closes, outcomes: scored(1, 0) })]))
  return fixture.grader.grade(
    samplePick({ market: `soccer/epl.20260601.ars-che/${market}`, selection, odds: '1.92' }),
  )
}

/** A price without margin. */
const fairAt = (probability: number) => ({ probability, odds: 1 / probability })

describe('G13: a quarter line from its two recorded halves', () => {
  test('is what the distribution itself says of the quarter, whatever the distribution', () => {
    fc.assert(
      fc.property(margins, quarters, (distribution, line) => {
        const [lower, upper] = [line - 0.25, line + 0.25]
        const [half, whole] = Number.isInteger(lower) ? [upper, lower] : [lower, upper]
        const quarter = findQuarter(
          { half: pairAt(distribution, half), whole: pairAt(distribution, whole) },
          whole < half,
        )
        const direct = pairAt(distribution, line)
        expect(quarter?.probability).toBeCloseTo(direct.probability, 10)
        // At fair halves the one price is the fair one.
        expect(quarter?.odds).toBeCloseTo(direct.odds, 8)
      }),
    )
  })

  test('lines that contradict each other give nothing', () => {
    expect(findQuarter({ half: fairAt(0.5), whole: fairAt(0.6) }, true)).toBeUndefined()
    expect(findQuarter({ half: fairAt(0.5), whole: fairAt(0.4) }, true)).toBeDefined()
  })

  test('grades -0.75 from -0.5 and -1 of one book, says so, and shows both entries', async () => {
    const card = await graded(
      lines(['ah/ft/-0.5', '1.8', '2.1'], ['ah/ft/-1', '2.25', '1.7']),
      'ah/ft/-0.75',
      'home',
    )
    expect(card).toMatchObject({
      outcome: 'GRADED',
      basis: 'fair',
      flags: ['line_from_halves'],
      scoreboard: { status: 'half_won' },
      close: {
        line: -0.75,
        rule: 'from_both_halves',
        halves: [
          { line: -0.5, odds: 1.8 },
          { line: -1, odds: 2.25 },
        ],
      },
    })
    if (card.outcome !== 'GRADED') throw new Error('ungraded')
    expect(card.close.odds).toBeGreaterThan(1.8)
    expect(card.close.odds).toBeLessThan(2.25)
    expect(card.clv.fair).toBeCloseTo(1.92 * (card.close.fair_prob ?? 0) - 1, 12)
  })

  test('grades both sides of a total: their fair prices are of one pair', async () => {
    const closes = lines(['total/ft/2.5', '1.9', '2'], ['total/ft/2', '1.5', '2.6'])
    const fair = async (selection: string) => {
      const card = await graded(closes, 'total/ft/2.25', selection)
      return card.outcome === 'GRADED' ? (card.close.fair_prob ?? 0) : 0
    }
    expect((await fair('over')) + (await fair('under'))).toBeCloseTo(1, 10)
  })

  test('needs both halves, complete, at one book; anything else stays line_not_recorded with what is recorded', async () => {
    const each = await graded(lines(['ah/ft/-0.5', '1.8', '2.1']), 'ah/ft/-0.75', 'home')
    expect(each).toMatchObject({ reason: { code: 'line_not_recorded', nearest: ['-0.5'] } })
    const [half, whole] = lines(['ah/ft/-0.5', '1.8', '2.1'], ['ah/ft/-1', '2.25', '1.7'])
    const apart = [half, { ...whole, book: 'bet365' }].flatMap((close) =>
      close === undefined ? [] : [close as ReturnType<typeof samplePrices>],
    )
    expect(await graded(apart, 'ah/ft/-0.75', 'home')).toMatchObject({
      reason: { code: 'line_not_recorded' },
    })
    // Only quarters are two recorded lines: -1.5 is not made of -1 and -2.
    const wide = lines(['ah/ft/-1', '1.8', '2.1'], ['ah/ft/-2', '2.9', '1.4'])
    expect(await graded(wide, 'ah/ft/-1.5', 'home')).toMatchObject({
      reason: { code: 'line_not_recorded' },
    })
  })
})
