import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createHttpFixture, type HttpFixture, httpCalls } from '../testing/http.fixture.ts'
import { auditExample } from '../wire/examples.ts'

let fixture: HttpFixture
const { post, upload } = httpCalls(() => fixture)

beforeAll(async () => {
  fixture = await createHttpFixture()
  fixture.clock.advanceMs(2 * 86_400_000)
  await upload()
})
afterAll(() => fixture.app.close())

const preview = async (payload: object, headers: Record<string, string> = {}) =>
  (await post('/api/coverage', payload, headers)).json()

describe('a look at picks before any payment', () => {
  test('each of the worked case is gradable or named, without a price or a grade', async () => {
    const answer = await preview({ picks: auditExample.picks })
    expect(answer).toMatchObject({ picks: 5, gradable: 4, ungraded: 1, unreadable: 0 })
    expect(answer.rows[3]).toEqual({
      pick: 3,
      written: 'epl.20260601.ars-che total · over · -105',
      status: 'gradable',
      market: 'soccer/epl.20260601.ars-che/total/ft/2.5',
      selection: 'over',
      event: { home: 'Arsenal', away: 'Chelsea', starts_at: '2026-06-01T18:00:00Z' },
      send: {
        market: 'soccer/epl.20260601.ars-che/total/ft/2.5',
        selection: 'over',
        odds: '-105',
        ref: 'tip 4',
      },
    })
    expect(answer.rows[4]).toMatchObject({
      pick: 4,
      status: 'ungraded',
      reason: { code: 'line_not_recorded', nearest: ['2.5'] },
    })
    expect(JSON.stringify(answer)).not.toMatch(/clv|"close"|fair|1\.90|3\.55/)
  })

  test('a bare 110, a repeat and a misspelt member are named by their place', async () => {
    const [pick] = auditExample.picks
    const { rows } = await preview({ picks: [pick, pick, { ...pick, odds: '110' }] })
    expect(rows.map(({ status }: { status: string }) => status)).toEqual([
      'gradable',
      'unreadable',
      'unreadable',
    ])
    expect(rows[1].issues).toEqual([
      { field: 'body.picks[1]', expected: 'another pick than body.picks[0]' },
    ])
    expect(rows[2].issues[0]).toEqual({
      field: 'body.picks[2].odds',
      expected: 'a clear notation: "+110" is American, "110.0" decimal',
    })
    const wrong = await post('/api/coverage', { picks: [{ ...pick, oods: 2 }] })
    expect([wrong.statusCode, wrong.json().issues[0].field]).toEqual([400, 'body.picks[0].oods'])
  })

  test('a tracker’s file, as csv in JSON or by itself', async () => {
    const csv = 'Date,Home,Away,Selection,Odds\n2026-06-01,Arsenal London,CFC Chelsea,Draw,110\n'
    const asked = await preview({ csv })
    expect(asked.rows[0]).toMatchObject({ line: 2, status: 'unreadable' })
    const american = await preview({ csv, odds_notation: 'american' })
    expect(american.rows[0]).toMatchObject({
      line: 2,
      written: '2026-06-01 · Arsenal London · CFC Chelsea · Draw · 110',
      status: 'gradable',
      send: { market: 'soccer/epl.20260601.ars-che/1x2/ft', selection: 'draw', odds: '+110' },
    })
    const plain = csv.replace(',110', ',3.60')
    const headers = { 'content-type': 'text/csv' }
    const answer = await fixture.app.inject({
      method: 'POST',
      url: '/api/coverage',
      payload: plain,
      headers,
    })
    expect(answer.json()).toMatchObject({ picks: 1, gradable: 1 })
  })

  test.each([
    [{ csv: 'a,b\n1,2' }, 'body.csv'],
    [{ csv: 'Date,Home,Away,Selection,Odds\n' }, 'body.csv'],
    [{ csv: 'x', picks: auditExample.picks }, 'body'],
    [{ picks: [] }, 'body.picks'],
    [{ csv: 'x', date_order: 'y' }, 'body.date_order'],
  ])('%j names %s', async (payload, field) => {
    const answer = await post('/api/coverage', payload)
    expect([answer.statusCode, answer.json().issues[0].field]).toEqual([400, field])
  })

  test('a free look takes 50 ms at most: what it did not look at is named', async () => {
    const { store } = fixture
    const search = store.searchEvents.bind(store)
    // A ledger that needs a millisecond a look-up.
    store.searchEvents = async (asked) => {
      const until = performance.now() + 1
      while (performance.now() < until);
      return search(asked)
    }
    const picks = Array.from({ length: 1_000 }, (_, index) => ({
      market: { sport: 'soccer', event: `nobody ${index} v no one ${index}`, type: '1x2' },
      selection: 'home',
      odds: 2.5,
      date: '2026-06-01',
    }))
    const answer = await preview({ picks })
    store.searchEvents = search
    expect(answer.rows).toHaveLength(1_000)
    expect(answer.rows[0].status).toBe('ungraded')
    expect(answer.not_looked_at).toBeGreaterThan(800)
    expect(answer.rows[999]).toEqual({ pick: 999, status: 'not_looked_at' })
  })

  test('one address looks at picks 60 times a minute; the next is told when to go on', async () => {
    fixture.clock.advanceMs(60_000)
    const ask = (remoteAddress: string) =>
      fixture.app.inject({
        method: 'POST',
        url: '/api/coverage',
        payload: { picks: auditExample.picks },
        remoteAddress,
      })
    for (let count = 0; count < 60; count += 1)
      expect((await ask('192.0.2.1')).statusCode).toBe(200)
    const refused = await ask('192.0.2.1')
    expect([refused.statusCode, refused.json().error]).toEqual([429, 'too_many_requests'])
    expect(refused.headers['retry-after']).toBe('60')
    expect((await ask('192.0.2.2')).statusCode).toBe(200)
    fixture.clock.advanceMs(60_000)
    expect((await ask('192.0.2.1')).statusCode).toBe(200)
  })
})
