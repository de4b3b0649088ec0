/** G3, G2: which requests ask for the price, and which are well formed, so that they are graded or UNGRADED and pay. */
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createHttpFixture,
  type HttpFixture,
  httpCalls,
  type Sent,
  withPick,
} from '../testing/http.fixture.ts'
import { auditExample, uploadExample } from '../wire/examples.ts'

let fixture: HttpFixture
const { newPayment, send } = httpCalls(() => fixture)

beforeAll(async () => {
  fixture = await createHttpFixture()
  fixture.clock.advanceMs(2 * 86_400_000)
})
afterAll(() => fixture.app.close())

const JSON_TYPE = { 'content-type': 'application/json' }

describe('402: a probe', () => {
  test.each([
    { row: 'no body', sent: {} },
    { row: 'an empty JSON body', sent: { payload: '', headers: JSON_TYPE } },
    { row: '{}', sent: { payload: '{}', headers: JSON_TYPE } },
    {
      row: 'an empty form, from curl -d ""',
      sent: { payload: '', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    },
    { row: 'an empty text', sent: { payload: '', headers: { 'content-type': 'text/plain' } } },
  ] satisfies { row: string; sent: Sent }[])('$row', async ({ sent }) => {
    for (const [kind, amount] of [
      ['grade', '10000'],
      ['audit', '200000'],
    ] as const) {
      const answer = await send(kind, sent)
      expect(answer.statusCode).toBe(402)
      const header = Buffer.from(String(answer.headers['payment-required']), 'base64').toString()
      expect(header).toBe(answer.body)
      expect(answer.headers['cache-control']).toBe('no-store')
      expect(answer.json()).toMatchObject({
        x402Version: 2,
        error: 'payment_required',
        resource: { url: `https://grading.example/api/${kind}` },
        accepts: [
          {
            network: 'eip155:196',
            amount,
            asset: '0x779Ded0c9e1022225f8E0630b35a9b54bE713736',
            extra: { name: 'USD₮0', version: '1', paymentFlow: 'upfront' },
            price: { amount },
          },
        ],
      })
    }
  })

  test('a payment without a request is told what to send, and is not settled', async () => {
    for (const payload of [undefined, {}]) {
      const headers = newPayment('grade')
      const answer = await send('grade', payload === undefined ? { headers } : { payload, headers })
      expect([answer.statusCode, answer.json().issues[0].field]).toEqual([400, 'body'])
    }
    expect(await refusedTotal()).toBe(0)
  })
})

/** Payments that the gate refused, without those that never reached it. */
async function refusedTotal(): Promise<number> {
  const text = await fixture.registry.metrics()
  return [...text.matchAll(/^grading_refusals_total\{.*\} (\d+)$/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  )
}

describe('200: well formed but not gradable is UNGRADED, and pays', () => {
  test.each([
    {
      row: 'an unknown event',
      change: { market: 'soccer/nowhere/1x2/ft' },
      code: 'no_close_recorded',
    },
    {
      row: 'a line that the close does not have',
      change: { market: 'soccer/epl.20260601.ars-che/total/ft/3.5', selection: 'over' },
      code: 'line_not_recorded',
    },
    {
      row: 'an ambiguous market',
      change: { market: 'soccer/epl.20260601.ars-che/moneyline/ft' },
      code: 'ambiguous_market',
    },
    {
      row: 'a bet placed after the start',
      change: { placed_at: '2026-06-01T18:00:01Z' },
      code: 'placed_after_start',
    },
  ])('$row: $code', async ({ change, code }) => {
    await fixture.app.inject({
      method: 'POST',
      url: '/api/ingest',
      headers: { authorization: `Bearer ${fixture.token()}` },
      payload: uploadExample,
    })
    const before = fixture.settlements
    const answer = await send('grade', { payload: withPick(change), headers: newPayment('grade') })
    expect([answer.statusCode, answer.json()]).toMatchObject([
      200,
      { outcome: 'UNGRADED', grade: 'UNGRADED', reason: { code } },
    ])
    for (const member of ['clv', 'close', 'basis', 'calibration'])
      expect(answer.json()).not.toHaveProperty(member)
    expect(answer.headers['payment-response']).toBeDefined()
    expect(fixture.settlements).toBe(before + 1)
  })

  test('any JSON is answered 400 or 402, never otherwise', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.boolean(), async (value, isPick) => {
        const payload = JSON.stringify(isPick ? { pick: value } : value)
        const answer = await send('grade', { payload, headers: JSON_TYPE })
        expect([400, 402]).toContain(answer.statusCode)
      }),
      { numRuns: 300 },
    )
  })

  test('an audit’s example is challenged, not refused', async () => {
    expect((await send('audit', { payload: auditExample })).statusCode).toBe(402)
  })
})
