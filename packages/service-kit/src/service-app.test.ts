import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { manualClock } from './manual-clock.ts'
import { Secret } from './secret.ts'
import { buildThing, closeThings, lines } from './thing-service.fixture.ts'

afterEach(closeThings)

describe('S9: CORS', () => {
  test('a preflight is answered before any gate', async () => {
    const app = await buildThing({
      routes: (scope) => {
        scope.get(
          '/gated',
          {
            onRequest: async (_request, reply) =>
              reply.code(402).send({ error: 'payment_required' }),
          },
          async () => ({}),
        )
      },
    })
    const response = await app.inject({
      method: 'OPTIONS',
      url: '/gated',
      headers: {
        origin: 'https://a.example',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'payment-signature, traceparent, x-api-key',
      },
    })
    expect(response.statusCode).toBe(204)
    expect(response.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, POST, OPTIONS',
      'access-control-allow-headers':
        'PAYMENT-SIGNATURE, X-PAYMENT, Access-Control-Expose-Headers, content-type, idempotency-key, traceparent, x-api-key',
      'access-control-max-age': '600',
    })
    const refused = await app.inject({ url: '/gated', headers: { origin: 'https://a.example' } })
    expect(refused.statusCode).toBe(402)
    expect(refused.headers['access-control-expose-headers']).toContain('PAYMENT-REQUIRED')
  })

  test.each([
    ['too many', Array.from({ length: 400 }, (_, index) => `x-${index}`).join(',')],
    ['what is no header’s name', 'a b, c"d'],
  ])('S10: of the headers that a page asks for, %s are left out', async (_, requested) => {
    const app = await buildThing()
    const headers = { 'access-control-request-headers': requested }
    const response = await app.inject({ method: 'OPTIONS', url: '/thing', headers })
    expect(response.headers['access-control-allow-headers']).toBe(
      'PAYMENT-SIGNATURE, X-PAYMENT, Access-Control-Expose-Headers, content-type, idempotency-key',
    )
  })

  test('S9, S10: beyond what is let through, a page of an x402 client still pays', async () => {
    const app = await buildThing()
    const traced = Array.from({ length: 400 }, (_, index) => `x-${index}`)
    const requested = ['payment-signature', 'access-control-expose-headers', ...traced].join(',')
    const headers = { 'access-control-request-headers': requested }
    const response = await app.inject({ method: 'OPTIONS', url: '/thing', headers })
    const allowed = String(response.headers['access-control-allow-headers']).toLowerCase()
    expect(allowed).toContain('payment-signature')
    expect(allowed).toContain('access-control-expose-headers')
    expect(allowed.length).toBeLessThan(200)
  })

  test('a bare OPTIONS on any path is 204', async () => {
    const app = await buildThing()
    const response = await app.inject({ method: 'OPTIONS', url: '/nowhere' })
    expect(response.statusCode).toBe(204)
    expect(response.headers['access-control-allow-origin']).toBe('*')
  })

  test('without a policy OPTIONS is 405', async () => {
    const app = await buildThing({ cors: false })
    const response = await app.inject({ method: 'OPTIONS', url: '/thing' })
    expect(response.statusCode).toBe(405)
    expect(response.headers['allow']).toBe('GET')
  })
})

describe('S4: what every service serves', () => {
  test('/openapi.json has every schema it refers to, and none of another service', async () => {
    const inner = z.object({ id: z.string() }).meta({ id: 'ReferredInner' })
    const outer = z.object({ inner }).meta({ id: 'ReferredOuter' })
    z.object({ id: z.string() }).meta({ id: 'OfAnotherService' })
    const app = await buildThing({
      routes: (scope) => {
        scope.get('/thing', { schema: { response: { 200: outer } } }, async () => ({
          inner: { id: 'x' },
        }))
      },
    })
    const { components } = (await app.inject('/openapi.json')).json()
    expect(Object.keys(components.schemas)).toEqual(
      expect.arrayContaining(['ReferredInner', 'ReferredOuter']),
    )
    expect(Object.keys(components.schemas)).not.toContain('OfAnotherService')
  })

  test('/openapi.json is OpenAPI 3.1 from the schemas that validate, without a port', async () => {
    const app = await buildThing()
    await app.ready()
    const document = app.swagger()
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { title: 'tallystick-thing', version: '1.2.3' },
    })
    const paths = Object.keys(document.paths ?? {})
    expect(paths).toEqual(
      expect.arrayContaining(['/thing', '/paid', '/health', '/ready', '/metrics']),
    )
    expect(Object.keys(document.paths?.['/thing'] ?? {})).toEqual(['get'])
    expect((await app.inject('/openapi.json')).json()).toEqual(JSON.parse(JSON.stringify(document)))
  })

  test('/docs is a page of every operation, under the same strict policy', async () => {
    const app = await buildThing()
    for (const url of ['/docs', '/docs/']) {
      const response = await app.inject(url)
      expect(response.statusCode).toBe(200)
      expect(response.headers['content-security-policy']).toContain("default-src 'none'")
      for (const operation of ['GET /thing', 'POST /paid', 'GET /health'])
        expect(response.payload).toContain(`<h3><code>${operation}</code></h3>`)
    }
  })

  test('/ is a page with the escaped description and a strict policy', async () => {
    const app = await buildThing()
    const response = await app.inject('/')
    expect(response.payload).toContain('Things &amp; &lt;more&gt;.')
    expect(response.headers['content-security-policy']).toContain("default-src 'none'")
    expect(response.headers['x-content-type-options']).toBe('nosniff')
  })

  test('/health answers while nothing is ready; /ready names what is not', async () => {
    const app = await buildThing({
      readiness: {
        ledger: async () => ({ kind: 'not-ready', reason: 'ledger_unreachable' }),
        store: async () => ({ kind: 'ready' }),
        broken: async () => {
          throw new Error('inner text')
        },
      },
    })
    expect((await app.inject('/health')).json()).toEqual({ status: 'ok' })
    const response = await app.inject('/ready')
    expect(response.statusCode).toBe(503)
    expect(response.json()).toEqual({
      error: 'not_ready',
      ready: false,
      checks: {
        ledger: { kind: 'not-ready', reason: 'ledger_unreachable' },
        store: { kind: 'ready' },
        broken: { kind: 'not-ready', reason: 'check_failed' },
      },
    })
  })

  test('/ready does not wait for a hanging check', async () => {
    const clock = manualClock(0)
    const app = await buildThing({ clock, readiness: { slow: () => new Promise(() => undefined) } })
    await app.ready()
    const response = app.inject('/ready')
    await expect.poll(() => clock.pendingCount()).toBe(1)
    clock.advanceMs(3_000)
    expect((await response).json().checks.slow.reason).toBe('check_timed_out')
  })

  test('/metrics counts by route pattern, never by path', async () => {
    const app = await buildThing()
    await app.inject('/nested/secret-name')
    await app.inject('/nowhere/secret-name')
    const { payload, headers } = await app.inject('/metrics')
    expect(headers['content-type']).toContain('text/plain')
    expect(payload).toContain(
      'http_requests_total{method="GET",route="/nested/:id",status="200"} 1',
    )
    expect(payload).toContain('http_requests_total{method="GET",route="unmatched",status="404"} 1')
    expect(payload).not.toContain('secret-name')
  })

  test('/metrics requires METRICS_TOKEN if it is set', async () => {
    const app = await buildThing({ metricsToken: new Secret('0123456789abcdef') })
    const get = (authorization?: string) =>
      app.inject({ url: '/metrics', headers: authorization === undefined ? {} : { authorization } })
    expect((await get()).statusCode).toBe(401)
    expect((await get('Bearer 0123456789abcdeX')).statusCode).toBe(401)
    expect((await get('Bearer 0123456789abcdef')).statusCode).toBe(200)
  })

  test('/llms.txt lists the routes', async () => {
    const app = await buildThing({ llmsNotes: 'Pay first.' })
    const { payload } = await app.inject('/llms.txt')
    expect(payload).toContain('# tallystick-thing 1.2.3')
    expect(payload).toContain('- `GET /thing`: A thing.')
    expect(payload).toContain('Pay first.')
  })
})

describe('S6: one log line per request', () => {
  test('carries the id that x-request-id echoes, and no query', async () => {
    const app = await buildThing()
    const response = await app.inject({
      url: '/thing?agent=0xaa',
      headers: { 'x-request-id': 'chosen-by-the-client' },
    })
    expect(response.headers['x-request-id']).toBe('request-1')
    const requests = lines.filter((line) => line['msg'] === 'request')
    expect(requests).toHaveLength(1)
    expect(requests[0]).toMatchObject({
      reqId: 'request-1',
      method: 'GET',
      route: '/thing',
      path: '/thing',
      status: 200,
    })
    expect(JSON.stringify(lines)).not.toContain('0xaa')
  })
})
