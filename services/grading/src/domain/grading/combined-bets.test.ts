import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createGraderFixture, makeFixture, readCode } from '../../testing/grader.fixture.ts'
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
import type { Observation } from '../closes/observation.ts'
import { DEFAULT_GRADE_OPTIONS, type Parlay, type PickRequest } from '../markets/pick-request.ts'

const SECOND = 'soccer/epl.20260601.liv-mun'
const other = sampleEvent({ path: SECOND, home: 'Liverpool', away: 'Man United' })
const total = samplePrices({ market: 'total/ft/2', odds: { over: '1.9', under: '2.0' } })

/** Two matches, each with its close; results as given. */
const twoMatches = (
  each: Observation['outcomes'] = [],
  two: Observation['outcomes'] = [],
): readonly Observation[] => [
  sampleObservation({ closes: [samplePrices(), total], outcomes: each }),
  sampleObservation({ event: other, closes: [samplePrices(), total], outcomes: two }),
]

async function withMatches(...results: readonly Observation['outcomes'][]) {
  const fixture = createGraderFixture()
  await fixture.store.ingest(sampleBatch(twoMatches(...results)))
  return fixture
}

const makeParlay = (odds: string, ...legs: readonly PickRequest[]): Parlay => ({
  kind: 'parlay',
  legs,
  odds: samplePick({ odds }).odds,
  options: DEFAULT_GRADE_OPTIONS,
})

const home = samplePick({ odds: '2.20' })
const away = samplePick({ market: `${SECOND}/1x2/ft`, selection: 'away', odds: '4.10' })

function graded(card: Card): GradedCard {
  if (card.outcome !== 'GRADED') throw new Error(`not graded: ${card.reason.code}`)
  return card
}

describe('G18: a parlay', () => {
  test('is graded as the product of its legs’ closing prices and fair probabilities, with each leg on the card', async () => {
    const { grader } = await withMatches(scored(2, 1), scored(0, 3))
    const legs = [graded(await grader.grade(home)), graded(await grader.grade(away))]
    const card = graded(await grader.grade(makeParlay('9.02', home, away)))
    const chance = (legs[0]?.close.fair_prob ?? 0) * (legs[1]?.close.fair_prob ?? 0)
    expect(card.close.fair_prob).toBeCloseTo(chance, 14)
    expect(card.close.odds).toBeCloseTo(2.05 * 3.9, 12)
    expect(card.clv.fair).toBeCloseTo(9.02 * chance - 1, 12)
    expect(card.basis).toBe('fair')
    expect(card.close.rule).toBe('product_of_legs')
    expect(card.close.legs?.map(({ market, record }) => [market, record.seq])).toEqual(
      legs.map(({ pick, close }) => [pick.market, close.record.seq]),
    )
    expect(card.scoreboard).toEqual({ status: 'won', return_units: expect.closeTo(8.02, 12) })
  })

  test('is UNGRADED where one leg is, and says which and why', async () => {
    const { grader } = await withMatches()
    const unknown = samplePick({ market: `${SECOND}/total/ft/7.5`, selection: 'over' })
    expect(await grader.grade(makeParlay('5', home, unknown))).toMatchObject({
      outcome: 'UNGRADED',
      reason: {
        code: 'leg_ungraded',
        nearest: [`leg 2, ${SECOND}/total/ft/7.5: line_not_recorded`],
      },
    })
  })

  test('of two legs on one event is UNGRADED: they depend on each other', async () => {
    const { grader } = await withMatches()
    const same = samplePick({ market: 'soccer/epl.20260601.ars-che/total/ft/2', selection: 'over' })
    expect(readCode(await grader.grade(makeParlay('5', home, same)))).toBe('legs_of_one_event')
  })

  test('pays by its legs’ own prices where one is pushed or void, nothing where one is lost', async () => {
    const even = samplePick({ market: `${SECOND}/total/ft/2`, selection: 'over', odds: '1.95' })
    const result = async (each: Observation['outcomes'], two: Observation['outcomes']) => {
      const { grader } = await withMatches(each, two)
      return graded(await grader.grade(makeParlay('4.29', home, even))).scoreboard
    }
    // 4.29 = 2.20 × 1.95: with the total pushed at two goals, 2.20 is left.
    expect(await result(scored(2, 1), scored(1, 1))).toEqual({
      status: 'half_won',
      return_units: expect.closeTo(1.2, 12),
    })
    expect(await result(scored(2, 1), [{ period: 'ft', status: 'void' }])).toMatchObject({
      return_units: expect.closeTo(1.2, 12),
    })
    expect(await result(scored(0, 1), [])).toEqual({ status: 'lost', return_units: -1 })
    expect(await result(scored(2, 1), [])).toEqual({ status: 'pending' })
    expect(await result(scored(2, 1), scored(3, 1))).toMatchObject({ status: 'won' })
  })

  test('is as good as its legs: fair legs at fair prices make a parlay worth 0, whatever their number', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 2, max: 8 }), async (count) => {
        const fixture = createGraderFixture()
        const events = Array.from({ length: count }, (_, index) =>
          sampleEvent({ path: `soccer/epl.20260601.a${index}-b`, home: `A${index}`, away: 'B' }),
        )
        await fixture.store.ingest(
          sampleBatch(
            events.map((event) => sampleObservation({ event, closes: [samplePrices()] })),
          ),
        )
        const legs = events.map(({ path }) => samplePick({ market: `${path}/1x2/ft`, odds: '2.1' }))
        const first = graded(await fixture.grader.grade(legs[0] ?? home))
        const fair = (first.close.fair_odds ?? 0) ** count
        const card = graded(await fixture.grader.grade(makeParlay(fair.toFixed(9), ...legs)))
        expect(card.clv.fair).toBeCloseTo(0, 6)
      }),
      { numRuns: 7 },
    )
  })

  test('is kept under a receipt, counts nowhere, and its card follows the results', async () => {
    const { store, pay, grader } = await withMatches()
    const card = await pay(makeParlay('9.02', home, away))
    expect(card).toMatchObject({ counted: { population: null, why: 'combined_bet' } })
    const before = await store.counts()
    await store.ingest(sampleBatch(twoMatches(scored(2, 1), scored(0, 3))))
    expect(before.entries).toBe(2)
    expect(await grader.findCard(card.receipt ?? '')).toMatchObject({
      outcome: 'GRADED',
      taken: { odds: 9.02 },
      scoreboard: { status: 'won' },
      close: { legs: [{ selection: 'home' }, { selection: 'away' }] },
    })
  })

  test('in an audit stands among single picks, in its place', async () => {
    const { grader } = await withMatches()
    const audit = await grader.audit({ picks: [home, makeParlay('9.02', home, away), away] })
    expect(audit.picks.map(({ pick }) => pick.market)).toEqual([
      'soccer/epl.20260601.ars-che/1x2/ft',
      'parlay',
      `${SECOND}/1x2/ft`,
    ])
    expect(audit.coverage).toMatchObject({ picks: 3, graded: 3 })
  })
})

const race = sampleEvent({
  path: 'horse_racing/testford.20260601.1800',
  sport: 'horse_racing',
  league: 'Testford',
  home: 'Testford',
  away: '18:00',
  startAtSeconds: START_SECONDS,
})
const WIN = { one: '4', two: '4', three: '4', four: '4' }
const PLACE = { one: '2', two: '2', three: '2', four: '2' }
const racing = (outcomes: Observation['outcomes'] = []) =>
  makeFixture({
    event: race,
    closes: [
      samplePrices({ market: 'outright/ft', book: 'betfair_sp', odds: WIN, isWhole: true }),
      samplePrices({ market: 'place/ft/2', book: 'betfair_sp', odds: PLACE, isWhole: true }),
    ],
    outcomes,
  })
const eachWay = (odds: string, fraction = 0.2): PickRequest => ({
  ...samplePick({ market: `${race.path}/outright/ft`, selection: 'one', odds }),
  eachWay: { places: 2, fraction },
})
const finish = (win: 'won' | 'lost', placed: 'won' | 'lost'): Observation['outcomes'] => [
  {
    period: 'ft',
    status: 'final',
    results: {
      'outright/ft': { one: { result: win } },
      'place/ft/2': { one: { result: placed } },
    },
  },
]

describe('G18: an each-way bet', () => {
  test('is the mean of its half to win and its half to be placed, at the stated fraction', async () => {
    const { grader } = await racing(finish('lost', 'won'))
    // To win 6.0 at 25 %, to be placed 2.0 at 50 %: +50 % and 0.
    const card = graded(await grader.grade(eachWay('6')))
    expect(card.clv.fair).toBeCloseTo(0.25, 12)
    expect(card.clv.price).toBeCloseTo(0.25, 12)
    expect(card.close.legs?.map(({ market, taken }) => [market, taken])).toEqual([
      [`${race.path}/outright/ft`, 6],
      [`${race.path}/place/ft/2`, 2],
    ])
    expect(card.taken).toMatchObject({ odds: 6, each_way: { places: 2, fraction: 0.2 } })
    expect(card.scoreboard).toEqual({ status: 'half_won', return_units: 0 })
  })

  test('won pays both halves, unplaced loses both', async () => {
    const [won, lost] = [await racing(finish('won', 'won')), await racing(finish('lost', 'lost'))]
    expect((await won.grader.grade(eachWay('6'))).scoreboard).toEqual({
      status: 'won',
      return_units: 3,
    })
    expect((await lost.grader.grade(eachWay('6'))).scoreboard).toEqual({
      status: 'lost',
      return_units: -1,
    })
  })

  test('at places that the close lacks is UNGRADED, with the recorded ones named', async () => {
    const { grader } = await racing()
    const card = await grader.grade({ ...eachWay('6'), eachWay: { places: 4, fraction: 0.2 } })
    expect(card).toMatchObject({ reason: { code: 'line_not_recorded', nearest: ['2'] } })
  })
})

describe('G18: deductions for withdrawn runners', () => {
  test('Rule 4 takes its share of the profit, an exchange’s reduction of the whole price', async () => {
    const { grader } = await racing(finish('won', 'won'))
    const pick = samplePick({ market: `${race.path}/outright/ft`, selection: 'one', odds: '6' })
    const rule4 = graded(
      await grader.grade({ ...pick, deductions: { ofProfit: 0.25, ofPrice: 0 } }),
    )
    expect(rule4.taken.pays).toBeCloseTo(4.75, 12)
    expect(rule4.clv.fair).toBeCloseTo(4.75 / 4 - 1, 12)
    expect(rule4.scoreboard).toMatchObject({ return_units: expect.closeTo(3.75, 12) })
    expect(rule4.flags).toContain('price_reduced')
    const exchange = graded(
      await grader.grade({ ...pick, deductions: { ofProfit: 0, ofPrice: 0.25 } }),
    )
    expect(exchange.taken.pays).toBeCloseTo(4.5, 12)
  })
})
