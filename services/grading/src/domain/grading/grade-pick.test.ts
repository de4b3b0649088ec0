import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { makeFixture, readCode } from '../../testing/grader.fixture.ts'
import {
  START_SECONDS,
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePick,
  samplePrices,
  scored,
} from '../../testing/samples.fixture.ts'
import type { Card, GradedCard } from '../../wire/cards.ts'

type Golden = {
  readonly grades: readonly {
    readonly name: string
    readonly close: readonly string[]
    readonly selection: number
    readonly taken: string
    readonly fair_prob: string
    readonly clv_price: string
    readonly clv_fair: string
    readonly clv_log: string
    readonly grade: string
  }[]
}

const golden = JSON.parse(
  readFileSync(new URL('../../../vectors/golden-grades.json', import.meta.url), 'utf8'),
) as Golden

function graded(card: Card): GradedCard {
  if (card.outcome !== 'GRADED') throw new Error(`ungraded: ${card.reason.code}`)
  return card
}

describe('graded', () => {
  test('a bet can win and still be graded poorly when the price taken was worse than the price at close', async () => {
    const { grader } = await makeFixture({ closes: [samplePrices()], outcomes: scored(2, 1) })
    const card = graded(await grader.grade(samplePick({ odds: '1.90' })))
    expect(card.scoreboard).toEqual({
      status: 'won',
      return_units: 0.8999999999999999,
      score: '2-1',
    })
    expect(card.clv.beat_close).toBe(false)
    expect(card.clv.price).toBeCloseTo(-0.0731707, 6)
    expect(card.grade).toBe('F')
    expect(card.summary).toBe(
      'Won. Taken at 1.9 against a close of 2.05: 7.3 % worse than the close, worth -9.0 % at the fair close. Grade F.',
    )
  })

  test.each(golden.grades)('golden: $name', async (vector) => {
    const isThreeWay = vector.close.length === 3
    const selections = isThreeWay ? ['home', 'draw', 'away'] : ['home', 'away']
    const market = isThreeWay ? '1x2/ft' : 'ml/ft'
    const sport = isThreeWay ? 'soccer' : 'baseball'
    const event = sampleEvent({ path: `${sport}/epl.20260601.ars-che`, sport })
    const odds = Object.fromEntries(
      selections.map((name, index) => [name, vector.close[index] ?? '']),
    )
    const { grader } = await makeFixture({ event, closes: [samplePrices({ market, odds })] })
    const card = graded(
      await grader.grade(
        samplePick({
          market: `${event.path}/${market}`,
          selection: selections[vector.selection] ?? '',
          odds: vector.taken,
        }),
      ),
    )
    expect(card.grade).toBe(vector.grade)
    expect(card.basis).toBe('fair')
    expect(card.close.fair_prob).toBeCloseTo(Number(vector.fair_prob), 12)
    expect(card.clv.price).toBeCloseTo(Number(vector.clv_price), 12)
    expect(card.clv.fair).toBeCloseTo(Number(vector.clv_fair), 12)
    expect(card.clv.log).toBeCloseTo(Number(vector.clv_log), 12)
  })

  test('G1: only the selection’s close recorded: graded on price, with the flag; basis fair is UNGRADED', async () => {
    const { grader } = await makeFixture({ closes: [samplePrices({ odds: { home: '2.05' } })] })
    const card = graded(await grader.grade(samplePick({ odds: '2.20' })))
    expect(card.basis).toBe('price')
    expect(card.grade).toBe('A')
    expect(card.flags).toEqual(['close_incomplete'])
    expect(card.clv.fair).toBeUndefined()
    expect(card.close.fair_prob).toBeUndefined()
    expect(card.calibration.basis).toBe('price')
    const strict = await grader.grade(samplePick({ options: { basis: 'fair' } }))
    expect(readCode(strict)).toBe('close_incomplete')
  })

  test('G1: below a booksum of one the grade is held at C, with the flag', async () => {
    const odds = { home: '2.2', draw: '4', away: '4.2' }
    const { grader } = await makeFixture({ closes: [samplePrices({ odds })] })
    const card = graded(await grader.grade(samplePick({ odds: '2.15' })))
    expect(card.clv.fair).toBeGreaterThan(0)
    expect(card.grade).toBe('C')
    expect(card.flags).toContain('booksum_below_one')
  })

  test('G1: a price below the recorded close never grades above C', async () => {
    const price = fc.integer({ min: 101, max: 3_000 }).map((hundredths) => hundredths / 100)
    const cases = fc.record({
      home: price,
      draw: price,
      away: price,
      share: fc.double({ min: 0.01, max: 0.999999, noNaN: true }),
    })
    await fc.assert(
      fc.asyncProperty(cases, async ({ home, draw, away, share }) => {
        const sum = 1 / home + 1 / draw + 1 / away
        const taken = 1 + (home - 1) * share
        fc.pre(sum < 1.5 && sum > 0.5 && taken < home && taken > 1)
        const odds = { home: String(home), draw: String(draw), away: String(away) }
        const { grader } = await makeFixture({ closes: [samplePrices({ odds })] })
        const card = await grader.grade(samplePick({ odds: taken }))
        expect(['C', 'D', 'F']).toContain(card.grade)
      }),
      { numRuns: process.env['TALLYSTICK_LONG'] === '1' ? 5_000 : 150 },
    )
  })

  test('the scoreboard may be pending, and comes from the ledger only', async () => {
    const { grader, store } = await makeFixture({ closes: [samplePrices()] })
    expect(graded(await grader.grade(samplePick())).scoreboard).toEqual({ status: 'pending' })
    await store.ingest(sampleBatch([sampleObservation({ outcomes: scored(0, 0) })]))
    expect(graded(await grader.grade(samplePick())).scoreboard).toMatchObject({
      status: 'lost',
      return_units: -1,
    })
  })

  test('sharper books come first; a named reference is used; disagreement is flagged', async () => {
    const soft = samplePrices({ book: 'bet365', odds: { home: '1.8', draw: '3.6', away: '4.5' } })
    const { grader } = await makeFixture({ closes: [soft, samplePrices()] })
    const card = graded(await grader.grade(samplePick()))
    expect(card.close.source.book).toBe('pinnacle')
    expect(card.flags).toContain('closes_disagree')
    const requested = graded(await grader.grade(samplePick({ options: { reference: 'bet365' } })))
    expect(requested.close.odds).toBe(1.8)
    expect(await grader.grade(samplePick({ options: { reference: 'unibet' } }))).toMatchObject({
      reason: {
        code: 'no_close_recorded',
        message: 'The ledger has no closing price of this market at that book.',
        nearest: ['bet365', 'pinnacle'],
      },
    })
  })

  test('two books with identical closes agree, whatever method removes the margin', async () => {
    const odds = { home: '1.08', draw: '11', away: '34' }
    const closes = ['bet365', 'pinnacle'].map((book) => samplePrices({ book, odds }))
    const { grader } = await makeFixture({ closes })
    for (const method of ['power', 'shin', 'odds_ratio', 'multiplicative', 'additive'] as const) {
      const pick = samplePick({ selection: 'away', odds: '40', options: { method } })
      expect(graded(await grader.grade(pick)).flags).toEqual([])
    }
  })

  test('a start that moved after the close was taken is flagged', async () => {
    const { grader, store } = await makeFixture({ closes: [samplePrices()] })
    const event = sampleEvent({ startAtSeconds: START_SECONDS + 3_600 })
    await store.ingest(sampleBatch([sampleObservation({ event })]))
    expect(graded(await grader.grade(samplePick())).flags).toContain('stale_anchor')
  })

  test('each method that always gives probabilities can be requested', async () => {
    const { grader } = await makeFixture({ closes: [samplePrices()] })
    for (const method of ['power', 'shin', 'odds_ratio', 'multiplicative', 'additive'] as const) {
      const card = graded(await grader.grade(samplePick({ options: { method } })))
      expect(card.close.method).toBe(method)
      expect(card.method_spread).toBeGreaterThan(0)
    }
  })
})

test('a card has the handicap of the backed side, and its key the home side’s', async () => {
  const market = 'soccer/epl.20260601.ars-che/ah/ft/-0.5'
  const prices = samplePrices({ market: 'ah/ft/-0.5', odds: { home: '2', away: '1.9' } })
  const { grader } = await makeFixture({ closes: [prices] })
  const taken = async (selection: string) => {
    const { pick, taken: own } = graded(await grader.grade(samplePick({ market, selection })))
    return [pick.market, own.line]
  }
  expect(await taken('away')).toEqual([market, 0.5])
  expect(await taken('home')).toEqual([market, -0.5])
})
