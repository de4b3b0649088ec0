import { connect } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { paidServiceCors } from './cors-policy.ts'
import { createLogger } from './logging.ts'
import { manualClock } from './manual-clock.ts'
import { Secret } from './secret.ts'
import { listeningUrl } from './serve.ts'
import { createServiceApp, type ServiceApp, type ServiceAppOptions } from './service-app.ts'

class LedgerDown extends Error {}

const routes = (app: ServiceApp): void => {
  const query = z.strictObject({ agent: z.string().regex(/^0x[a-f0-9]{2}$/, 'two hex digits') })
  app.get('/thing', { schema: { querystring: query, summary: 'A thing.' } }, async (request) => ({
    agent: request.query.agent,
  }))
  const body = z.object({ picks: z.array(z.object({ price: z.number().gt(1) })) })
  app.post(
    '/paid',
    { schema: { body, response: { 200: z.object({ n: z.int() }) } } },
    async (request) => ({
      n: request.body.picks.length,
    }),
  )
  app.post('/probe', async (request) => ({ hasBody: request.body !== undefined }))
  app.get('/bug', async () => {
    throw new Error('the password is hunter2')
  })
  app.get('/ledger', async () => {
    throw new LedgerDown('10.0.0.7 refused')
  })
  app.register(async (nested) => {
    nested.get('/nested/:id', async () => ({}))
  })
}

const lines: Record<string, unknown>[] = []
const open: ServiceApp[] = []

async function build(options: Partial<ServiceAppOptions> = {}): Promise<ServiceApp> {
  lines.length = 0
  const app = await createServiceApp({
    name: 'tallystick-thing',
    version: '1.2.3',
    description: 'Things & <more>.',
    clock: manualClock(0),
    logger: createLogger({
      name: 'thing',
      level: 'debug',
      destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
    }),
    cors: paidServiceCors,
    errors: {
      answer: (error) =>
        error instanceof LedgerDown ? { status: 502, error: 'ledger_unavailable' } : undefined,
    },
    newRequestId: () => 'request-1',
    routes,
    ...options,
  })
  open.push(app)
  return app
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((app) => app.close()))
})

const exchangeRaw = (url: string, bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const { port, hostname } = new URL(url)
    let text = ''
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    socket.on('data', (chunk) => {
      text += chunk.toString()
    })
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
  })

describe('S5: errors are JSON with a stable code', () => {
  test('a refused query names the field and what was expected', async () => {
    const app = await build()
    const response = await app.inject('/thing?agent=nothex')
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual({
      error: 'invalid_request',
      issues: [{ field: 'query.agent', expected: 'two hex digits' }],
    })
  })

  test('a repeated parameter is refused', async () => {
    const app = await build()
    const response = await app.inject('/thing?agent=0xaa&agent=0xbb')
    expect(response.statusCode).toBe(400)
  })

  test('a refused body names the path into it', async () => {
    const app = await build()
    const payload = { picks: [{ price: 2 }, { price: 0.5 }] }
    const response = await app.inject({ method: 'POST', url: '/paid', payload })
    expect(response.statusCode).toBe(400)
    expect(response.json().issues[0].field).toBe('body.picks[1].price')
  })

  test('a service may say it in its own words', async () => {
    const app = await build({
      errors: { invalidRequest: () => ({ status: 400, error: 'invalid_agent' }) },
    })
    const response = await app.inject('/thing')
    expect(response.json()).toEqual({ error: 'invalid_agent' })
  })

  test.each([
    { title: 'a path that nobody serves', url: '/nowhere', status: 404, error: 'not_found' },
    { title: 'a malformed URL', url: '/%zz', status: 400, error: 'malformed_url' },
    {
      title: 'an overlong parameter',
      url: `/nested/${'a'.repeat(600)}`,
      status: 414,
      error: 'url_too_long',
    },
    { title: 'a bug', url: '/bug', status: 500, error: 'internal_error' },
    { title: 'a failing dependency', url: '/ledger', status: 502, error: 'ledger_unavailable' },
  ])('$title', async ({ url, status, error }) => {
    const app = await build()
    const response = await app.inject(url)
    expect(response.statusCode).toBe(status)
    expect(response.json()).toEqual({ error })
    expect(response.headers['x-request-id']).toBe('request-1')
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
  })

  test('what the router refuses passes a hook of the service, which may answer it', async () => {
    const app = await build({
      unroutedHook: (request, reply, done) => {
        void reply.header('access-control-allow-origin', '*')
        if (request.method === 'OPTIONS') void reply.code(204).send()
        else done()
      },
    })
    const preflight = await app.inject({ method: 'OPTIONS', url: '/%zz' })
    expect([preflight.statusCode, preflight.body]).toEqual([204, ''])
    const refused = await app.inject('/%zz')
    expect([refused.statusCode, refused.json()]).toEqual([400, { error: 'malformed_url' }])
    expect(refused.headers['access-control-allow-origin']).toBe('*')
  })

  test.each([
    { title: 'malformed JSON', payload: '{"picks":', status: 400, error: 'malformed_json' },
    {
      title: 'a poisoned prototype',
      payload: '{"__proto__":{"a":1}}',
      status: 400,
      error: 'malformed_json',
    },
    {
      title: 'a body over the limit',
      payload: `"${'a'.repeat(70_000)}"`,
      status: 413,
      error: 'payload_too_large',
    },
    {
      title: 'another media type',
      payload: '<a/>',
      type: 'application/xml',
      status: 415,
      error: 'unsupported_media_type',
    },
  ])('$title', async ({ payload, type, status, error }) => {
    const app = await build()
    const headers = { 'content-type': type ?? 'application/json' }
    const response = await app.inject({ method: 'POST', url: '/paid', payload, headers })
    expect(response.statusCode).toBe(status)
    expect(response.json()).toEqual({ error })
  })

  test('an empty body with a JSON content type is no body', async () => {
    const app = await build()
    const headers = { 'content-type': 'application/json' }
    const response = await app.inject({ method: 'POST', url: '/probe', headers, payload: '' })
    expect(response.json()).toEqual({ hasBody: false })
  })

  test('the text of an exception never leaves the process, and is logged with its stack', async () => {
    const app = await build()
    const response = await app.inject('/bug')
    expect(response.payload).not.toContain('hunter2')
    const logged = lines.find((line) => line['level'] === 'error')
    expect(logged).toMatchObject({ msg: 'internal error', err: { stack: expect.any(String) } })
  })

  test.each([
    {
      title: 'bytes that are no HTTP',
      bytes: 'NONSENSE\r\n\r\n',
      status: 400,
      error: 'malformed_request',
    },
    {
      title: 'headers over 16 KiB',
      bytes: `GET / HTTP/1.1\r\nhost: a\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`,
      status: 431,
      error: 'request_headers_too_large',
    },
  ])('$title', async ({ bytes, status, error }) => {
    const app = await build()
    await app.listen({ host: '127.0.0.1', port: 0 })
    const answer = await exchangeRaw(listeningUrl(app), bytes)
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(answer).toContain(`{"error":"${error}"}`)
  })
})

describe('S5: a wrong method on a known path is 405 with Allow', () => {
  test.each([
    ['POST', '/thing', 'GET, OPTIONS'],
    ['HEAD', '/thing', 'GET, OPTIONS'],
    ['GET', '/paid', 'OPTIONS, POST'],
    ['HEAD', '/paid', 'OPTIONS, POST'],
    ['DELETE', '/nested/7', 'GET, OPTIONS'],
    ['PROPFIND', '/thing', 'GET, OPTIONS'],
    ['POST', '/health', 'GET, HEAD, OPTIONS'],
  ] as const)('%s %s', async (method, url, allow) => {
    const app = await build()
    const response = await app.inject({ method: method as 'GET', url })
    expect(response.statusCode).toBe(405)
    expect(response.headers['allow']).toBe(allow)
    expect(['', '{"error":"method_not_allowed"}']).toContain(response.payload)
  })

  test('before the body is looked at', async () => {
    const app = await build()
    const headers = { 'content-type': 'application/json' }
    const response = await app.inject({ method: 'PUT', url: '/paid', payload: '{', headers })
    expect(response.statusCode).toBe(405)
    expect(response.json()).toEqual({ error: 'method_not_allowed' })
  })
})

describe('S9: CORS', () => {
  test('a preflight is answered before any gate', async () => {
    const app = await build({
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
        'access-control-request-headers': 'payment-signature',
      },
    })
    expect(response.statusCode).toBe(204)
    expect(response.headers).toMatchObject({
      'access-control-allow-origin': 'https://a.example',
      'access-control-allow-methods': 'GET, POST, OPTIONS',
      'access-control-max-age': '600',
      vary: 'Origin',
    })
    expect(response.headers['access-control-allow-headers']).toContain('PAYMENT-SIGNATURE')
    const refused = await app.inject({ url: '/gated', headers: { origin: 'https://a.example' } })
    expect(refused.statusCode).toBe(402)
    expect(refused.headers['access-control-expose-headers']).toContain('PAYMENT-REQUIRED')
  })

  test('a bare OPTIONS on any path is 204', async () => {
    const app = await build()
    const response = await app.inject({ method: 'OPTIONS', url: '/nowhere' })
    expect(response.statusCode).toBe(204)
    expect(response.headers['access-control-allow-origin']).toBe('*')
  })

  test('without a policy OPTIONS is 405', async () => {
    const app = await build({ cors: false })
    const response = await app.inject({ method: 'OPTIONS', url: '/thing' })
    expect(response.statusCode).toBe(405)
    expect(response.headers['allow']).toBe('GET')
  })
})

describe('S4: what every service serves', () => {
  test('/openapi.json has every schema that it refers to, and none of another service', async () => {
    const inner = z.object({ id: z.string() }).meta({ id: 'ReferredInner' })
    const outer = z.object({ inner }).meta({ id: 'ReferredOuter' })
    z.object({ id: z.string() }).meta({ id: 'OfAnotherService' })
    const app = await build({
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

  test('/openapi.json is OpenAPI 3.1 of the schemas that validate, without a port', async () => {
    const app = await build()
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

  test('/docs works offline under a policy of its own', async () => {
    const app = await build()
    const response = await app.inject('/docs/')
    expect(response.statusCode).toBe(200)
    expect(response.headers['content-security-policy']).toContain("default-src 'self'")
    expect(response.payload).not.toMatch(/src="https?:/)
  })

  test('/ is a page with the description escaped and a strict policy', async () => {
    const app = await build()
    const response = await app.inject('/')
    expect(response.payload).toContain('Things &amp; &lt;more&gt;.')
    expect(response.headers['content-security-policy']).toContain("default-src 'none'")
    expect(response.headers['x-content-type-options']).toBe('nosniff')
  })

  test('/health answers while nothing is ready; /ready names what is not', async () => {
    const app = await build({
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

  test('/ready does not wait for a check that hangs', async () => {
    const clock = manualClock(0)
    const app = await build({ clock, readiness: { slow: () => new Promise(() => undefined) } })
    await app.ready()
    const response = app.inject('/ready')
    await expect.poll(() => clock.pendingCount()).toBe(1)
    clock.advanceMs(3_000)
    expect((await response).json().checks.slow.reason).toBe('check_timed_out')
  })

  test('/metrics counts by route pattern, never by path', async () => {
    const app = await build()
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

  test('/metrics asks for METRICS_TOKEN where that is set', async () => {
    const app = await build({ metricsToken: new Secret('0123456789abcdef') })
    const get = (authorization?: string) =>
      app.inject({ url: '/metrics', headers: authorization === undefined ? {} : { authorization } })
    expect((await get()).statusCode).toBe(401)
    expect((await get('Bearer 0123456789abcdeX')).statusCode).toBe(401)
    expect((await get('Bearer 0123456789abcdef')).statusCode).toBe(200)
  })

  test('/llms.txt lists the routes', async () => {
    const app = await build({ llmsNotes: 'Pay first.' })
    const { payload } = await app.inject('/llms.txt')
    expect(payload).toContain('# tallystick-thing 1.2.3')
    expect(payload).toContain('- `GET /thing`: A thing.')
    expect(payload).toContain('Pay first.')
  })
})

describe('S6: one log line per request', () => {
  test('with the id that x-request-id echoes, and without the query', async () => {
    const app = await build()
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
