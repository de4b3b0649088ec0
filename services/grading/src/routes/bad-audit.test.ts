/** G3, row by row: the answer to a malformed audit, as in bad-input.test.ts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createHttpFixture, type HttpFixture, httpCalls } from '../testing/http.fixture.ts'
import { gradeExample } from '../wire/examples.ts'

let fixture: HttpFixture
const { newPayment, refused, send } = httpCalls(() => fixture)

beforeAll(async () => {
  fixture = await createHttpFixture()
  fixture.clock.advanceMs(2 * 86_400_000)
})
afterAll(() => fixture.app.close())

const { pick } = gradeExample

describe('400: an audit', () => {
  const slate = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ ...pick, odds: 2 + index / 1_000 }))

  test.each([
    { row: 'no picks', payload: { label: 'x' }, field: 'body.picks' },
    { row: 'an empty slate', payload: { picks: [] }, field: 'body.picks' },
    { row: '1,001 picks', payload: { picks: slate(1_001) }, field: 'body.picks' },
    { row: 'picks that are not a list', payload: { picks: { 0: pick } }, field: 'body.picks' },
    { row: 'duplicate picks', payload: { picks: [pick, pick] }, field: 'body.picks[1]' },
    {
      row: 'duplicate picks, their price in two notations',
      payload: {
        picks: [
          { ...pick, odds: '-110' },
          { ...pick, odds: '10/11' },
        ],
      },
      field: 'body.picks[1]',
    },
    {
      row: 'duplicate picks, written differently',
      payload: {
        picks: [
          pick,
          {
            market: { sport: 'Soccer', event: 'EPL.20260601.ars-che', type: 'match_odds' },
            selection: '1',
            odds: 1.9,
            ref: 'again',
          },
        ],
      },
      field: 'body.picks[1]',
    },
    {
      row: 'a bad pick',
      payload: { picks: [pick, { ...pick, odds: 1 }] },
      field: 'body.picks[1].odds',
    },
    { row: 'an unknown field', payload: { picks: [pick], window: 30 }, field: 'body.window' },
  ])('$row: names $field and what was expected', async ({ payload, field }) => {
    const { status, body } = await refused('audit', { payload })
    expect([status, body.error]).toEqual([400, 'invalid_request'])
    expect(body.issues.map((issue: { field: string }) => issue.field)).toEqual([field])
  })

  test('a thousand faults are named by the first twenty', async () => {
    const picks = slate(1_000).map((each) => ({ ...each, odds: 1 }))
    const { body } = await refused('audit', { payload: { picks } })
    expect([body.issues.length, body.more_issues]).toEqual([20, 980])
  })

  test('1,000 picks with every text at its longest fit, as do 1,000 real ones', async () => {
    const long = slate(1_000).map((each) => ({
      ...each,
      ref: 'r'.repeat(80),
      book: 'b'.repeat(80),
      placed_at: '2026-06-01T12:00:00.000000000+00:00',
    }))
    for (const picks of [long, slate(1_000)]) {
      const answer = await send('audit', { payload: { picks }, headers: newPayment('audit') })
      expect([answer.statusCode, answer.json().coverage.picks]).toEqual([200, 1_000])
    }
  })
})
