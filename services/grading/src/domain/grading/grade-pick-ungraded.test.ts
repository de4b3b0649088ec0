/** What the ledger cannot grade: a reason, and never a number that the ledger does not have. */
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
import { parseMarket } from '../markets/parse-market.ts'

/** Every number anywhere in a value. */
function numbersIn(value: unknown): readonly number[] {
  if (typeof value === 'number') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersIn) : []
}

describe('UNGRADED', () => {
  test('G2: never a number for an unrecorded close, under 10,000 fuzzed keys', async () => {
    const { grader } = await makeFixture({
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
          odds: key.odds.toFixed(3),
          options: { basis: key.basis },
        }),
      )
      expect(card.outcome).toBe('UNGRADED')
      expect('close' in card || 'clv' in card || 'calibration' in card).toBe(false)
      // The only numbers are the payer's own price and line, and the scoreboard's result of them.
      expect(card.taken?.odds).toBe(Number(key.odds.toFixed(3)))
      expect(numbersIn({ ...card, taken: undefined, scoreboard: undefined })).toEqual([])
    }
    expect(tried).toBeGreaterThan(7_000)
  })

  test('G2: a selection called constructor, which every object has, is not in the close, and has no result', async () => {
    const { grader } = await makeFixture({
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

  test('G2: a line that the close does not have is line_not_recorded, with the lines it has', async () => {
    const close = samplePrices({ market: 'ah/ft/-0.75', odds: { home: '1.95', away: '1.95' } })
    const { grader } = await makeFixture({ closes: [close], outcomes: scored(2, 0) })
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
    const { grader } = await makeFixture(observation)
    expect(readCode(await grader.grade(pick))).toBe(code)
  })

  test('G2: team names that fit two events are ambiguous_market with the candidates; a single fit is graded', async () => {
    const second = sampleEvent({
      path: 'soccer/epl.20260701.ars-che',
      startAtSeconds: START_SECONDS + 2_592_000,
    })
    const other = sampleEvent({ path: 'soccer/epl.20260601.ars-tot', away: 'Tottenham' })
    const { grader } = await makeFixture(
      { closes: [samplePrices()] },
      { event: second, closes: [samplePrices()] },
      { event: other, closes: [samplePrices()] },
    )
    const both = await grader.grade(samplePick({ market: 'soccer/arsenal v chelsea/1x2/ft' }))
    expect(both).toMatchObject({ outcome: 'UNGRADED', reason: { code: 'ambiguous_market' } })
    const each = await grader.grade(samplePick({ market: 'soccer/arsenal v tottenham/1x2/ft' }))
    expect(each).toMatchObject({
      outcome: 'GRADED',
      pick: { market: 'soccer/epl.20260601.ars-tot/1x2/ft' },
    })
  })

  test('a voided close does not count', async () => {
    const { grader, store } = await makeFixture({ closes: [samplePrices()] })
    await store.ingest(
      sampleBatch([sampleObservation({ closes: [samplePrices()], closeStatus: 'void' })]),
    )
    expect(readCode(await grader.grade(samplePick()))).toBe('no_close_recorded')
  })
})
