/** Parlays, each-way bets and deductions through the paid routes: what is asked, refused, previewed and kept. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHttpFixture, type HttpFixture, httpCalls } from '../testing/http.fixture.ts'
import { uploadExample } from '../wire/examples.ts'

let fixture: HttpFixture
const { post, upload, buy, refused, send, newPayment } = httpCalls(() => fixture)

const [match] = uploadExample.events
const SECOND = 'soccer/epl.20260601.liv-mun'
const RACE = 'horse_racing/testford.20260601.1800'

beforeAll(async () => {
  fixture = await createHttpFixture()
  fixture.clock.advanceMs(2 * 86_400_000)
  await upload()
  await upload({
    events: [
      { ...match, event: SECOND, home: 'Liverpool', away: 'Man Utd' },
      {
        event: RACE,
        league: 'Testford',
        home: 'Testford',
        away: '18:00',
        starts_at: '2026-06-01T18:00:00Z',
        closes: [
          {
            market: 'outright/ft',
            book: 'betfair_sp',
            odds: { one: 4, two: 4, three: 4, four: 4 },
            is_whole: true,
          },
          {
            market: 'place/ft/2',
            book: 'betfair_sp',
            odds: { one: 2, two: 2, three: 2, four: 2 },
            is_whole: true,
          },
        ],
        outcomes: [
          {
            status: 'final',
            results: {
              'outright/ft': { one: { result: 'lost' } },
              'place/ft/2': { one: { result: 'won' } },
            },
          },
        ],
      },
    ],
  })
})
afterAll(() => fixture.app.close())

const legs = [
  { market: 'soccer/epl.20260601.ars-che/1x2/ft', selection: 'home', odds: '2.20' },
  {
    market: { sport: 'soccer', event: 'Liverpool v Man United', type: '1x2' },
    date: '2026-06-01',
    selection: 'home',
    odds: '11/10',
  },
]
const parlay = { legs, odds: '+362', ref: 'double' }

test('G18: a parlay is one pick for one price, by keys or team names, and its receipt reads it again', async () => {
  const answer = await buy(1, { pick: parlay })
  expect(answer.statusCode).toBe(200)
  const card = answer.json()
  expect(card).toMatchObject({
    outcome: 'GRADED',
    pick: { market: 'parlay', selection: '2 legs', ref: 'double' },
    close: { rule: 'product_of_legs', legs: [{ taken: 2.2 }, { taken: 2.1 }] },
    counted: { why: 'combined_bet' },
    scoreboard: { status: 'won' },
  })
  const again = await fixture.app.inject(`/api/picks/${card.receipt}`)
  expect(again.json()).toEqual(card)
})

test('G18: an each-way bet at one fifth of the odds, and a price that Rule 4 reduced', async () => {
  const pick = { market: `${RACE}/outright/ft`, selection: 'one', odds: '6' }
  const answer = await buy(2, { pick: { ...pick, each_way: { places: 2, fraction: '1/5' } } })
  expect(answer.json()).toMatchObject({
    clv: { fair: 0.25 },
    close: { rule: 'win_and_place' },
    taken: { odds: 6, each_way: { places: 2, fraction: 0.2 } },
    scoreboard: { status: 'half_won', return_units: 0 },
  })
  const again = await fixture.app.inject(`/api/picks/${answer.json().receipt}`)
  expect(again.json()).toEqual(answer.json())
  const reduced = await buy(3, { pick: { ...pick, rule4_deduction: 0.2 } })
  expect(reduced.json().taken).toEqual({ odds: 6, text: '6', pays: 5 })
})

const [first] = legs
test.for([
  { row: 'one leg', payload: { legs: [first], odds: 2 }, field: 'body.pick.legs' },
  { row: 'no odds', payload: { legs }, field: 'body.pick.odds' },
  {
    row: 'a leg with a bare 110',
    payload: { legs: [first, { ...first, odds: '110' }], odds: 2 },
    field: 'body.pick.legs[1].odds',
  },
  {
    row: 'a leg with an unknown field',
    payload: { legs: [first, { ...first, od: 1 }], odds: 2 },
    field: 'body.pick.legs[1].od',
  },
  {
    row: 'legs and a market',
    payload: { ...parlay, market: 'soccer/a/1x2/ft' },
    field: 'body.pick.market',
  },
  {
    row: 'each-way on a match',
    payload: { ...first, each_way: { places: 2, fraction: '1/5' } },
    field: 'body.pick.each_way',
  },
  {
    row: 'a place fraction of 3',
    payload: { ...first, each_way: { places: 2, fraction: '3/1' } },
    field: 'body.pick.each_way.fraction',
  },
  {
    row: 'a deduction of the whole',
    payload: { ...first, rule4_deduction: 1 },
    field: 'body.pick.rule4_deduction',
  },
])('G3: 400, unpaid: $row', async ({ payload, field }) => {
  const { status, body } = await refused('grade', { payload: { pick: payload } })
  expect([status, body.issues[0].field]).toEqual([400, field])
})

test('X16: a parlay counts as its legs: an audit of 60 parlays of 20 legs is refused unpaid', async () => {
  const big = { legs: Array.from({ length: 20 }, () => first), odds: 9 }
  const picks = Array.from({ length: 60 }, () => big)
  const { status, body } = await refused('audit', { payload: { picks } })
  expect([status, body.issues[0].expected]).toEqual([
    400,
    'at most 1000 picks, where each leg of a parlay is one',
  ])
})

test('a look at a parlay before any payment names the leg that has no close', async () => {
  const unknown = { ...first, market: `${SECOND}/total/ft/7.5`, selection: 'over' }
  const answer = await post('/api/coverage', {
    picks: [parlay, { legs: [first, unknown], odds: 5 }],
  })
  const { rows } = answer.json()
  expect(rows[0]).toMatchObject({ status: 'gradable', send: parlay })
  expect(rows[1]).toMatchObject({
    status: 'ungraded',
    reason: { code: 'leg_ungraded', nearest: [`leg 2, ${SECOND}/total/ft/7.5: line_not_recorded`] },
  })
})

test('G5: an audit has a receipt of its own: whoever has it reads the same audit, free, with later results', async () => {
  const picks = [first, parlay]
  const paid = await send('audit', {
    payload: { picks, label: 'mine' },
    headers: newPayment('audit'),
  })
  const audit = paid.json()
  expect(audit.receipt).toMatch(/^[0-9a-f]{32}$/)
  const again = await fixture.app.inject(`/api/audits/${audit.receipt}`)
  expect([again.statusCode, again.json()]).toEqual([200, audit])
  expect(again.headers['cache-control']).toBe('no-store')
  // It is no pick, and a pick's receipt is no audit.
  expect((await fixture.app.inject(`/api/picks/${audit.receipt}`)).statusCode).toBe(404)
  const card = (await buy(4)).json()
  expect((await fixture.app.inject(`/api/audits/${card.receipt}`)).statusCode).toBe(404)
  const pages = [audit.receipt, card.receipt, 'none'].map((receipt) =>
    fixture.app.inject(`/audit/${receipt}`),
  )
  const statuses = (await Promise.all(pages)).map(({ statusCode }) => statusCode)
  expect(statuses).toEqual([200, 404, 404])
  await upload({
    events: [
      {
        ...match,
        snapshots: [],
        closes: [],
        outcomes: [{ status: 'final', score: { home: 0, away: 1 } }],
      },
    ],
  })
  const later = (await fixture.app.inject(`/api/audits/${audit.receipt}`)).json()
  expect(later.record).toMatchObject({ lost: 2, won: 0 })
})

test('reading audits is limited by address', async () => {
  const statuses = []
  for (let read = 0; read < 40; read += 1)
    statuses.push((await fixture.app.inject('/api/audits/none')).statusCode)
  expect(statuses.at(-1)).toBe(429)
  fixture.clock.advanceMs(61_000)
  expect((await fixture.app.inject('/api/audits/none')).statusCode).toBe(404)
})
