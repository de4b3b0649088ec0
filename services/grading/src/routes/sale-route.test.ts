/** A sale over HTTP: what is charged, what is answered again, and what happens to the pick. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { GradingStoreUnavailable } from '../domain/closes/grading-store.ts'
import {
  createHttpFixture,
  type HttpFixture,
  httpCalls,
  PAYER,
  readError,
} from '../testing/http.fixture.ts'
import { auditExample, gradeExample, uploadExample } from '../wire/examples.ts'

let fixture: HttpFixture
const { buy, post, upload } = httpCalls(() => fixture)

beforeEach(async () => {
  fixture = await createHttpFixture()
  fixture.clock.advanceMs(2 * 86_400_000)
})
afterEach(() => fixture.app.close())

describe('money and grades', () => {
  test('X5, X6: a paid answer has PAYMENT-RESPONSE and is never stored', async () => {
    await upload()
    const answer = await buy(1)
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['cache-control']).toBe('no-store')
    const settlement = Buffer.from(String(answer.headers['payment-response']), 'base64').toString()
    expect(JSON.parse(settlement)).toMatchObject({ success: true, transaction: '0x1' })
  })

  test('X16: of one payer one audit is prepared at a time; grades and other payers go past it', async () => {
    await upload()
    const { grader } = fixture
    const audit = grader.audit.bind(grader)
    const waiting: (() => void)[] = []
    vi.spyOn(grader, 'audit').mockImplementation(async (request) => {
      await new Promise<void>((resolve) => void waiting.push(resolve))
      return await audit(request)
    })
    const buyAudit = (number: number, payer = PAYER) =>
      post(
        '/api/audit',
        { ...auditExample, label: `tips ${number}` },
        fixture.payment(20, number, payer),
      )
    const buying = [buyAudit(1), buyAudit(2), buyAudit(3)]
    await expect.poll(() => waiting).toHaveLength(1)
    expect((await buy(4)).statusCode).toBe(200)
    const other = buyAudit(5, `0x${'cd'.repeat(20)}`)
    await expect.poll(() => waiting).toHaveLength(2)
    for (let left = 4; left > 0; left -= 1) {
      await expect.poll(() => waiting.length).toBeGreaterThan(0)
      expect(waiting.length).toBeLessThanOrEqual(2)
      waiting.shift()?.()
    }
    const answers = await Promise.all([...buying, other])
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200])
  })

  test('X7: the same payment again gives the same card; for another body it is 402', async () => {
    await upload()
    const first = await buy(1)
    const again = await buy(1)
    expect(again.body).toBe(first.body)
    const reordered = { pick: Object.fromEntries(Object.entries(gradeExample.pick).toReversed()) }
    expect((await buy(1, reordered)).body).toBe(first.body)
    const other = await buy(1, { pick: { ...gradeExample.pick, odds: '1.91' } })
    expect([other.statusCode, readError(other)]).toEqual([402, 'payment_already_used'])
    const audit = await post('/api/audit', auditExample, fixture.payment(1, 1))
    expect([audit.statusCode, readError(audit)]).toEqual([402, 'payment_requirements_mismatch'])
    expect(fixture.settlements).toBe(1)
    expect((await fixture.store.counts()).picks).toBe(1)
  })

  test('G4: if grading throws, nothing is charged, and the same payment buys the grade later', async () => {
    const working = { events: fixture.store.events.bind(fixture.store) }
    const broken = new Error('a bug')
    fixture.store.events = () => Promise.reject(broken)
    const answer = await buy(1)
    expect([answer.statusCode, answer.json()]).toEqual([500, { error: 'internal_error' }])
    fixture.store.events = () => Promise.reject(new GradingStoreUnavailable('disk full'))
    const down = await buy(1)
    expect([down.statusCode, readError(down)]).toEqual([503, 'store_unavailable'])
    expect(down.headers['retry-after']).toBe('5')
    expect(down.body).not.toContain('disk')
    expect(fixture.settlements).toBe(0)
    fixture.store.events = working.events
    expect((await buy(1)).statusCode).toBe(200)
    expect(fixture.settlements).toBe(1)
  })

  test('G4: one Idempotency-Key and body: one card and one charge, whatever is signed; another body: 409', async () => {
    await upload()
    const keyed = (number: number, payload: object = gradeExample, payer = PAYER) =>
      post('/api/grade', payload, {
        ...fixture.payment(1, number, payer),
        'idempotency-key': 'tip-of-the-day',
      })
    const first = await keyed(1)
    const again = await keyed(2)
    expect([again.statusCode, again.body]).toEqual([200, first.body])
    expect(again.headers['payment-response']).toBe(first.headers['payment-response'])
    expect(fixture.settlements).toBe(1)
    const other = await keyed(3, { pick: { ...gradeExample.pick, odds: '1.91' } })
    expect([other.statusCode, other.json()]).toEqual([409, { error: 'idempotency_key_reused' }])
    expect(other.headers['cache-control']).toBe('no-store')
    expect(fixture.settlements).toBe(1)
    // A key belongs to its payer: another payer's is another key, and without one each payment buys its own card.
    const stranger = await keyed(4, gradeExample, '0x00000000000000000000000000000000000000cc')
    expect(stranger.statusCode).toBe(200)
    expect(stranger.body).not.toBe(first.body)
    await buy(5)
    expect(fixture.settlements).toBe(3)
  })

  test('an audit commits no pick and leaves calibration unchanged', async () => {
    await upload()
    const before = (await post('/api/calibration', {})).json().columns
    await post('/api/audit', auditExample, fixture.payment(20, 1))
    expect((await fixture.store.counts()).picks).toBe(0)
    expect((await post('/api/calibration', {})).json().columns).toEqual(before)
  })

  test('a pick paid before its start is committed, and its receipt reads the card as it develops', async () => {
    const early = await createHttpFixture()
    try {
      const sold = await early.app.inject({
        method: 'POST',
        url: '/api/grade',
        headers: early.payment(1, 1),
        payload: gradeExample,
      })
      expect(sold.json()).toMatchObject({
        outcome: 'UNGRADED',
        reason: { code: 'no_close_recorded' },
      })
      const { receipt } = sold.json()
      early.clock.advanceMs(2 * 86_400_000)
      await early.app.inject({
        method: 'POST',
        url: '/api/ingest',
        headers: { authorization: `Bearer ${early.token()}` },
        payload: uploadExample,
      })
      const now = await early.app.inject(`/api/picks/${receipt}`)
      expect(now.json()).toMatchObject({ outcome: 'GRADED', grade: 'F', receipt })
      expect(now.headers['cache-control']).toBe('no-store')
      const entry = (await early.app.inject('/api/ledger/0')).json()
      expect(entry.opened).toMatchObject({ selection: 'home', odds: '1.9' })
      expect(JSON.stringify(entry)).not.toContain(PAYER)
    } finally {
      await early.app.close()
    }
  })
})
