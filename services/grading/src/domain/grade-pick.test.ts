import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createGraderWorld } from '../testing/grader-world.ts'
import {
  START_SECONDS,
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePrices,
  scored,
} from '../testing/sample-events.ts'
import { samplePick } from '../testing/sample-picks.ts'
import type { Card, GradedCard } from './card.ts'
import type { Observation } from './observation.ts'
import { parseMarket } from './parse-market.ts'

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
  readFileSync(new URL('../../vectors/golden-grades.json', import.meta.url), 'utf8'),
) as Golden

async function worldOf(...observations: readonly Partial<Observation>[]) {
  const world = createGraderWorld()
  await world.store.ingest(sampleBatch(observations.map((one) => sampleObservation(one))))
  return world
}

function graded(card: Card): GradedCard {
  if (card.outcome !== 'GRADED') throw new Error(`ungraded: ${card.reason.code}`)
  return card
}

/** Every number anywhere in a value. */
function numbersIn(value: unknown): readonly number[] {
  if (typeof value === 'number') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersIn) : []
}

const codeOf = (card: Card): string => (card.outcome === 'GRADED' ? 'GRADED' : card.reason.code)

describe('graded', () => {
  test('a bet can win and still be graded poorly when the price taken was worse than the price at close', async () => {
    const { grader } = await worldOf({ closes: [samplePrices()], outcomes: scored(2, 1) })
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
    const { grader } = await worldOf({ event, closes: [samplePrices({ market, odds })] })
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
    const { grader } = await worldOf({ closes: [samplePrices({ odds: { home: '2.05' } })] })
    const card = graded(await grader.grade(samplePick({ odds: '2.20' })))
    expect(card.basis).toBe('price')
    expect(card.grade).toBe('A')
    expect(card.flags).toEqual(['close_incomplete'])
    expect(card.clv.fair).toBeUndefined()
    expect(card.close.fair_prob).toBeUndefined()
    expect(card.calibration.basis).toBe('price')
    const strict = await grader.grade(samplePick({ options: { basis: 'fair' } }))
    expect(codeOf(strict)).toBe('close_incomplete')
  })

  test('G1: below a booksum of one the grade is held at C, with the flag', async () => {
    const odds = { home: '2.2', draw: '4', away: '4.2' }
    const { grader } = await worldOf({ closes: [samplePrices({ odds })] })
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
        const { grader } = await worldOf({ closes: [samplePrices({ odds })] })
        const card = await grader.grade(samplePick({ odds: taken }))
        expect(['C', 'D', 'F']).toContain(card.grade)
      }),
      { numRuns: 500 },
    )
  })

  test('the scoreboard may be pending, and comes from the ledger only', async () => {
    const { grader, store } = await worldOf({ closes: [samplePrices()] })
    expect(graded(await grader.grade(samplePick())).scoreboard).toEqual({ status: 'pending' })
    await store.ingest(sampleBatch([sampleObservation({ outcomes: scored(0, 0) })]))
    expect(graded(await grader.grade(samplePick())).scoreboard).toMatchObject({
      status: 'lost',
      return_units: -1,
    })
  })

  test('sharper books come first; a named reference is used; disagreement is flagged', async () => {
    const soft = samplePrices({ book: 'bet365', odds: { home: '1.8', draw: '3.6', away: '4.5' } })
    const { grader } = await worldOf({ closes: [soft, samplePrices()] })
    const card = graded(await grader.grade(samplePick()))
    expect(card.close.source.book).toBe('pinnacle')
    expect(card.flags).toContain('closes_disagree')
    const asked = graded(await grader.grade(samplePick({ options: { reference: 'bet365' } })))
    expect(asked.close.odds).toBe(1.8)
    expect(await grader.grade(samplePick({ options: { reference: 'unibet' } }))).toMatchObject({
      reason: {
        code: 'no_close_recorded',
        message: 'The ledger has no closing price of this market at that book.',
        nearest: ['bet365', 'pinnacle'],
      },
    })
  })

  test('two books with the very same closes agree, by whatever method the margin is taken out', async () => {
    const odds = { home: '1.08', draw: '11', away: '34' }
    const closes = ['bet365', 'pinnacle'].map((book) => samplePrices({ book, odds }))
    const { grader } = await worldOf({ closes })
    for (const method of ['power', 'shin', 'odds_ratio', 'multiplicative', 'additive'] as const) {
      const pick = samplePick({ selection: 'away', odds: '40', options: { method } })
      expect(graded(await grader.grade(pick)).flags).toEqual([])
    }
  })

  test('a start that moved after the close was taken is flagged', async () => {
    const { grader, store } = await worldOf({ closes: [samplePrices()] })
    const event = sampleEvent({ startAtSeconds: START_SECONDS + 3_600 })
    await store.ingest(sampleBatch([sampleObservation({ event })]))
    expect(graded(await grader.grade(samplePick())).flags).toContain('stale_anchor')
  })

  test('each method that always gives probabilities can be asked for', async () => {
    const { grader } = await worldOf({ closes: [samplePrices()] })
    for (const method of ['power', 'shin', 'odds_ratio', 'multiplicative', 'additive'] as const) {
      const card = graded(await grader.grade(samplePick({ options: { method } })))
      expect(card.close.method).toBe(method)
      expect(card.method_spread).toBeGreaterThan(0)
    }
  })
})

describe('UNGRADED', () => {
  test('G2: never a number for an unrecorded close, under 10,000 fuzzed keys', async () => {
    const { grader } = await worldOf({
      closes: [
        samplePrices(),
        samplePrices({ market: 'ah/ft/-0.5', odds: { home: '1.9', away: '2' } }),
      ],
      outcomes: scored(1, 0),
    })
    const recorded = new Set(['1x2/ft', 'ah/ft/-0.5'])
    const events = ['epl.20260601.ars-che', 'epl.20260601.ars-chf', 'x', 'arsenal chelsea 2']
    const types = [
      '1x2/ft',
      '1x2/h1',
      'ml/ft',
      'dnb/ft',
      'btts/ft',
      'dc/ft',
      'cs/ft',
      'outright/ft',
    ]
    const lined = ['ah', 'total', 'spread']
    const market = fc.oneof(
      fc.constantFrom(...types),
      fc
        .tuple(
          fc.constantFrom(...lined),
          fc.constantFrom('ft', 'h1'),
          fc.integer({ min: -40, max: 40 }),
        )
        .map(([type, period, quarters]) => `${type}/${period}/${quarters / 4}`),
    )
    const keys = fc.sample(
      fc.record({
        sport: fc.constantFrom('soccer', 'tennis', 'basketball'),
        event: fc.constantFrom(...events),
        market,
        odds: fc.double({ min: 1.001, max: 1_000, noNaN: true }),
        basis: fc.constantFrom('auto', 'fair', 'price' as const),
      }),
      { numRuns: 10_000, seed: 7 },
    )
    let tried = 0
    for (const key of keys) {
      const text = `${key.sport}/${key.event}/${key.market}`
      if (text.startsWith('soccer/epl.20260601.ars-che/') && recorded.has(key.market)) continue
      const type = key.market.split('/')[0] ?? ''
      const selection =
        { total: 'over', btts: 'yes', dc: 'home_draw', cs: '1-0', outright: 'ars' }[type] ?? 'home'
      if (parseMarket({ market: text, selection }).kind !== 'market') continue
      tried += 1
      const card = await grader.grade(
        samplePick({
          market: text,
          selection,
          odds: Number(key.odds.toFixed(3)),
          options: { basis: key.basis },
        }),
      )
      expect(card.outcome).toBe('UNGRADED')
      expect('close' in card || 'clv' in card || 'calibration' in card).toBe(false)
      // The only numbers are the payer's own price and line, and what the scoreboard makes of them.
      expect(card.taken?.odds).toBe(Number(key.odds.toFixed(3)))
      expect(numbersIn({ ...card, taken: undefined, scoreboard: undefined })).toEqual([])
    }
    expect(tried).toBeGreaterThan(7_000)
  })

  test('G2: a selection called constructor, which every object has, is not in the close, and has no result', async () => {
    const { grader } = await worldOf({
      closes: [
        samplePrices({ market: 'outright/ft', odds: { a: '2.1', b: '1.9' }, isWhole: true }),
      ],
      outcomes: [
        { period: 'ft', status: 'final', results: { 'outright/ft': { a: { result: 'won' } } } },
      ],
    })
    const market = 'soccer/epl.20260601.ars-che/outright/ft'
    const card = await grader.grade(samplePick({ market, selection: 'constructor' }))
    expect(card).toMatchObject({
      reason: { code: 'selection_not_in_close' },
      scoreboard: { status: 'pending' },
    })
  })

  test('G2: a line that the close does not have is line_not_recorded, with the lines that there are', async () => {
    const close = samplePrices({ market: 'ah/ft/-0.75', odds: { home: '1.95', away: '1.95' } })
    const { grader } = await worldOf({ closes: [close], outcomes: scored(2, 0) })
    const card = await grader.grade(
      samplePick({ market: 'soccer/epl.20260601.ars-che/ah/ft/-0.5', odds: '1.92' }),
    )
    expect(card).toMatchObject({
      outcome: 'UNGRADED',
      reason: { code: 'line_not_recorded', nearest: ['-0.75'] },
      scoreboard: { status: 'won' },
    })
    expect(card).not.toHaveProperty('clv')
    expect(card).not.toHaveProperty('close')
  })

  test.each([
    {
      name: 'no_close_recorded: an unknown event',
      observation: { closes: [samplePrices()] },
      pick: samplePick({ market: 'soccer/epl.20260601.ars-tot/1x2/ft' }),
      code: 'no_close_recorded',
    },
    {
      name: 'no_close_recorded: only early prices',
      observation: { snapshots: [samplePrices()] },
      pick: samplePick(),
      code: 'no_close_recorded',
    },
    {
      name: 'close_not_final',
      observation: { closes: [samplePrices()], closeStatus: 'provisional' as const },
      pick: samplePick(),
      code: 'close_not_final',
    },
    {
      name: 'selection_not_in_close',
      observation: { closes: [samplePrices({ odds: { home: '2', away: '4' } })] },
      pick: samplePick({ selection: 'draw' }),
      code: 'selection_not_in_close',
    },
    {
      name: 'placed_after_start',
      observation: { closes: [samplePrices()] },
      pick: samplePick({ placedAtSeconds: START_SECONDS }),
      code: 'placed_after_start',
    },
    {
      name: 'field_changed',
      observation: { closes: [samplePrices()] },
      pick: samplePick({ fieldSize: 4 }),
      code: 'field_changed',
    },
  ])('G2: $name', async ({ observation, pick, code }) => {
    const { grader } = await worldOf(observation)
    expect(codeOf(await grader.grade(pick))).toBe(code)
  })

  test('G2: team names that fit two events are ambiguous_market with the candidates; one fits, and it is graded', async () => {
    const second = sampleEvent({
      path: 'soccer/epl.20260701.ars-che',
      startAtSeconds: START_SECONDS + 2_592_000,
    })
    const other = sampleEvent({ path: 'soccer/epl.20260601.ars-tot', away: 'Tottenham' })
    const { grader } = await worldOf(
      { closes: [samplePrices()] },
      { event: second, closes: [samplePrices()] },
      { event: other, closes: [samplePrices()] },
    )
    const both = await grader.grade(samplePick({ market: 'soccer/arsenal v chelsea/1x2/ft' }))
    expect(both).toMatchObject({ outcome: 'UNGRADED', reason: { code: 'ambiguous_market' } })
    const one = await grader.grade(samplePick({ market: 'soccer/arsenal v tottenham/1x2/ft' }))
    expect(one).toMatchObject({
      outcome: 'GRADED',
      pick: { market: 'soccer/epl.20260601.ars-tot/1x2/ft' },
    })
  })

  test('a voided close is no close', async () => {
    const { grader, store } = await worldOf({ closes: [samplePrices()] })
    await store.ingest(
      sampleBatch([sampleObservation({ closes: [samplePrices()], closeStatus: 'void' })]),
    )
    expect(codeOf(await grader.grade(samplePick()))).toBe('no_close_recorded')
  })
})
