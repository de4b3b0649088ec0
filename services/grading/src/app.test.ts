/** What the service serves besides its paid answers (S4, S5, S9), and that each code in errors.ts occurs. */
import { readFileSync } from 'node:fs'
import { testErrors } from '@tallystick/service-kit/service-contract'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { dependencyAnswer, gradingErrors } from './errors.ts'
import {
  createHttpFixture,
  type HttpFixture,
  httpCalls,
  METRICS_TOKEN,
  PAYER,
  readError,
} from './testing/http.fixture.ts'
import { auditExample, gradeExample, uploadExample } from './wire/examples.ts'

let fixture: HttpFixture
beforeEach(async () => {
  fixture = await createHttpFixture()
  fixture.clock.advanceMs(2 * 86_400_000)
})
afterEach(() => fixture.app.close())

const { buy, post, upload } = httpCalls(() => fixture)

/** The whole public ledger. */
const publicLedger = async (): Promise<string> => {
  const { size } = await fixture.store.head()
  const entries = await Promise.all(
    Array.from({ length: size }, (_, seq) => fixture.app.inject(`/api/ledger/${seq}`)),
  )
  return entries.map(({ body }) => body).join('\n')
}

describe('S4', () => {
  test('/openapi.json is 3.1 and equals the committed file, but for the prices of this deployment', async () => {
    const served = (await fixture.app.inject('/openapi.json')).json()
    for (const path of ['/api/grade', '/api/audit']) {
      expect(served.paths[path].post).toHaveProperty('x-payment-info')
      delete served.paths[path].post['x-payment-info']
    }
    expect(served.openapi).toBe('3.1.0')
    const committed = readFileSync(new URL('../openapi.json', import.meta.url), 'utf8')
    expect(served).toEqual(JSON.parse(committed))
  })

  test('/docs, /health, /ready and /llms.txt answer', async () => {
    for (const url of ['/docs', '/health', '/ready', '/llms.txt'])
      expect([url, (await fixture.app.inject(url)).statusCode]).toEqual([url, 200])
  })

  test('/metrics requires its token, and names no payer, receipt or market', async () => {
    await upload()
    const card = (await buy(1)).json()
    await post('/api/audit', auditExample, fixture.payment(20, 2))
    await buy(3, { pick: { ...gradeExample.pick, market: 'soccer/nowhere/1x2/ft' } })
    expect((await fixture.app.inject('/metrics')).statusCode).toBe(401)
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` }
    const { body } = await fixture.app.inject({ url: '/metrics', headers })
    for (const line of [
      'grading_sold_total{kind="grade"} 2',
      'grading_sold_total{kind="audit"} 1',
      'grading_grades_total{kind="grade",grade="F",reason=""} 1',
      'grading_grades_total{kind="grade",grade="UNGRADED",reason="no_close_recorded"} 1',
      'grading_grades_total{kind="audit",grade="UNGRADED",reason="line_not_recorded"} 1',
      'grading_payments_total{outcome="paid"} 3',
      'grading_settlements_total{event="settled"} 3',
      // Three from the upload, and the commitment of a pick on a match still unknown to the ledger.
      'grading_ledger_entries 4',
      'grading_ledger_picks 2',
      'grading_uploads_total{outcome="taken"} 1',
    ])
      expect(body).toContain(line)
    for (const secret of [PAYER, card.receipt, 'epl.20260601', 'nowhere'])
      expect(body).not.toContain(secret)
  })
})

describe('S5: 405 with Allow, on every route, for every other method', () => {
  test('each path of the reference', async () => {
    const { paths } = (await fixture.app.inject('/openapi.json')).json<{
      paths: Record<string, Record<string, unknown>>
    }>()
    for (const [path, operations] of Object.entries(paths)) {
      const url = path.replace('{seq}', '0').replace('{receipt}', 'x')
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
        if (method.toLowerCase() in operations) continue
        // The kit's own pages answer HEAD like GET.
        if (method === 'HEAD' && 'get' in operations && !path.startsWith('/api/')) continue
        const answer = await fixture.app.inject({ method, url, headers: fixture.payment(1, 1) })
        expect([method, path, answer.statusCode]).toEqual([method, path, 405])
        expect(String(answer.headers['allow']).toLowerCase()).toContain(
          Object.keys(operations)[0] ?? 'none',
        )
      }
    }
    expect(fixture.settlements).toBe(0)
  })

  test.each([
    ['POST', '/api/gr%61de'],
    ['POST', '//api/grade'],
    ['POST', '/api//grade'],
    ['POST', '/api/grade/'],
    ['POST', '/API/GRADE'],
    ['POST', '/api/grade?x=1'],
    ['POST', '/api%2Fgrade'],
    ['POST', '/api/../api/audit'],
    ['HEAD', '/api/grade'],
    ['GET', '/api/audit'],
    ['QUERY', '/api/grade'],
  ])('X1: %s %s never gives an unpaid grade', async (method, url) => {
    const answer = await fixture.app.inject({
      method: method as 'POST',
      url,
      payload: gradeExample,
    })
    expect([400, 402, 404, 405]).toContain(answer.statusCode)
    // The challenge shows the shape of an answer, but is not one.
    const { outcome } = answer.body === '' ? {} : answer.json<{ readonly outcome?: unknown }>()
    expect(outcome).toBeUndefined()
  })

  test('an unknown path is 404', async () => {
    const answer = await fixture.app.inject('/api/grades')
    expect([answer.statusCode, readError(answer)]).toEqual([404, 'not_found'])
  })

  test('every answer has a request id that the client did not choose', async () => {
    const answer = await fixture.app.inject({ url: '/health', headers: { 'x-request-id': 'mine' } })
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('S9', () => {
  test('a preflight is answered before any gate and allows the payment headers to be sent and read', async () => {
    const origin = 'https://agent.example'
    const preflight = await fixture.app.inject({
      method: 'OPTIONS',
      url: '/api/grade',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers':
          'payment-signature,access-control-expose-headers,idempotency-key',
      },
    })
    expect(preflight.statusCode).toBe(204)
    const allowed = String(preflight.headers['access-control-allow-headers']).toLowerCase()
    for (const name of [
      'payment-signature',
      'x-payment',
      'access-control-expose-headers',
      'content-type',
      'idempotency-key',
    ])
      expect(allowed).toContain(name)
    const challenged = await fixture.app.inject({
      method: 'POST',
      url: '/api/grade',
      headers: { origin },
    })
    expect(challenged.statusCode).toBe(402)
    const exposed = String(challenged.headers['access-control-expose-headers']).toLowerCase()
    for (const name of ['payment-required', 'payment-response', 'x-request-id', 'retry-after'])
      expect(exposed).toContain(name)
  })
})

describe('free routes', () => {
  test('G3: calibration without a body is 200; its filters are validated', async () => {
    const answer = await fixture.app.inject({ method: 'POST', url: '/api/calibration' })
    expect([answer.statusCode, answer.json().columns.length]).toEqual([200, 4])
    const each = { filters: { population: 'committed', basis: 'price', scope: 'all' } }
    expect((await post('/api/calibration', each)).json().columns).toMatchObject([
      { population: 'committed', basis: 'price', scope: 'all' },
    ])
    for (const [filters, field] of [
      [{ population: 'best' }, 'body.filters.population'],
      [{ basis: 'x' }, 'body.filters.basis'],
      [{ scope: 'All of it' }, 'body.filters.scope'],
      [{ since: 1 }, 'body.filters.since'],
    ] as const) {
      const refused = await post('/api/calibration', { filters })
      expect([refused.statusCode, refused.json().issues[0].field]).toEqual([400, field])
    }
  })

  test('coverage: by key or by what one knows, never a price', async () => {
    await upload()
    const byKey = async (market: string) => (await post('/api/coverage', { market })).json()
    expect((await byKey(gradeExample.pick.market)).close).toBe('final')
    expect((await byKey('SOCCER/EPL.20260601.ARS-CHE/match_odds/full_time')).close).toBe('final')
    expect((await byKey('soccer/epl.20260601.ars-che/total/ft/3.5')).close).toBe('none')
    expect((await byKey('soccer/nowhere/1x2/ft')).candidates).toEqual([])
    const found = await post('/api/coverage', { text: 'arsenal', date: '2026-06-01' })
    expect(found.json().candidates[0].markets).toContainEqual({
      market: gradeExample.pick.market,
      close: 'final',
    })
    for (const price of ['2.05', '3.55', '2.12']) expect(found.body).not.toContain(price)
    for (const [payload, field] of [
      [{}, 'body'],
      [{ market: 'x', text: 'y' }, 'body'],
      [{ market: 'soccer' }, 'body.market'],
      [{ market: 'soccer/a/corners/ft' }, 'body.market.type'],
      [{ market: 'soccer/a/ml/ft' }, 'body.market'],
      [{ date: '2026-02-30' }, 'body.date'],
      [{ sport: 'So cc er' }, 'body.sport'],
    ] as const) {
      const refused = await post('/api/coverage', payload)
      expect([refused.statusCode, refused.json().issues[0].field]).toEqual([400, field])
    }
  })

  test('G7: an entry whose prices may not be redistributed is shown without them', async () => {
    await upload()
    expect(await publicLedger()).toContain('"redacted"')
    expect(await publicLedger()).not.toContain('2.05')
    const event = { ...uploadExample.events[0], event: 'soccer/epl.20260601.open' }
    await upload({ redistributable: true, source: 'open', events: [event] })
    expect(await publicLedger()).toContain('"home":"2.05"')
  })

  test('an invalid entry number is 400; an unknown entry or receipt is 404', async () => {
    expect((await fixture.app.inject('/api/ledger/x')).json().issues[0].field).toBe('path.seq')
    expect((await fixture.app.inject('/api/ledger/-1')).statusCode).toBe(400)
    expect((await fixture.app.inject('/api/ledger/99')).statusCode).toBe(404)
    expect((await fixture.app.inject('/api/picks/ffff')).statusCode).toBe(404)
  })
})

testErrors(gradingErrors, new URL('../README.md', import.meta.url))

describe('errors.ts', () => {
  test('a bug is no answer of theirs', () => {
    expect(dependencyAnswer(new Error('a bug'))).toBeUndefined()
  })

  test('502s charge nothing and say when to retry', async () => {
    const met: unknown[] = []
    const meet = async () => {
      const answer = await buy(7)
      met.push([answer.statusCode, readError(answer)])
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
      expect(answer.headers['payment-required']).toBeUndefined()
    }
    fixture.facilitator = 'unreachable'
    await meet()
    fixture.facilitator = 'up'
    fixture.isChainDown = true
    await meet()
    fixture.isChainDown = false
    fixture.isTokenWrong = true
    await meet()
    const probe = await post('/api/grade', {})
    met.push([probe.statusCode, readError(probe)])
    expect(met).toEqual([
      [502, 'facilitator_unavailable'],
      [502, 'ledger_unavailable'],
      [502, 'payment_terms_unknown'],
      [502, 'payment_terms_unknown'],
    ])
    expect(fixture.settlements).toBe(0)
    fixture.isTokenWrong = false
    fixture.facilitator = 'refusing'
    const refused = await buy(7)
    expect([refused.statusCode, readError(refused)]).toEqual([402, 'invalid_amount'])
  })
})
