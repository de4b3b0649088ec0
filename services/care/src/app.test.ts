import { testErrors } from '@tallystick/service-kit/service-contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { careErrors } from './errors.ts'
import { BASE_URL, type CareFixture, RESOURCE, startCareFixture } from './testing/care.fixture.ts'

let fixture: CareFixture
beforeAll(async () => {
  fixture = await startCareFixture({ environment: { METRICS_TOKEN: 'metrics-token-for-tests' } })
})
afterAll(() => fixture.close())

const options = (url: string, headers = {}) =>
  fixture.app.inject({ method: 'OPTIONS', url, headers })

describe('OPTIONS on any path: 204 with CORS headers', () => {
  test.each([
    '/',
    '/mcp',
    '/write',
    '/verify',
    '/health',
    '/docs',
    '/metrics',
    '/no/such/path',
    '/%zz',
  ])('%s', async (url) => {
    const answer = await options(url, { origin: 'https://app.test' })
    expect(answer.statusCode).toBe(204)
    expect(answer.body).toBe('')
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': 'https://app.test',
      'access-control-allow-methods': 'GET, POST, DELETE, OPTIONS',
      'access-control-expose-headers': 'mcp-session-id, www-authenticate',
      'access-control-max-age': '600',
      vary: 'origin',
    })
    expect(String(answer.headers['access-control-allow-headers']).split(', ')).toEqual([
      'authorization',
      'content-type',
      'accept',
      'x-care-signature',
      'x-care-timestamp',
      'mcp-session-id',
      'mcp-protocol-version',
      'last-event-id',
      'mcp-method',
      'mcp-name',
    ])
  })

  test('without an origin it is *; no preflight headers are needed', async () => {
    const answer = await options('/write')
    expect([answer.statusCode, answer.headers['access-control-allow-origin']]).toEqual([204, '*'])
  })

  test.each(['/verify', '/health', '/no/such/path', '/', '/index.html'])(
    'a browser from any origin may read %s',
    async (url) => {
      const answer = await fixture.get(url, { origin: 'https://app.test' })
      expect(answer.headers['access-control-allow-origin']).toBe('https://app.test')
      // `/` also has an answer for programs.
      expect(answer.headers.vary).toMatch(/^origin(, accept)?$/)
    },
  )

  test('refusals and failures may be read as well', async () => {
    const refused = await fixture.app.inject({
      method: 'POST',
      url: '/write',
      headers: { origin: 'https://app.test' },
    })
    expect([refused.statusCode, refused.headers['access-control-allow-origin']]).toEqual([
      401,
      'https://app.test',
    ])
  })
})

describe('protected-resource metadata', () => {
  const paths = [
    '/.well-known/oauth-protected-resource',
    '/.well-known/oauth-protected-resource/mcp',
  ]
  test.each(paths)('200 GET %s', async (url) => {
    const answer = await fixture.get(url)
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toEqual({
      resource: RESOURCE,
      authorization_servers: ['https://issuer.test'],
      scopes_supported: ['care.read.user', 'care.read.assistant', 'care.write'],
      bearer_methods_supported: ['header'],
      resource_documentation: `${BASE_URL}/verify`,
    })
  })

  test.each(paths)('405 method_not_allowed: other methods on %s', async (url) => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH'] as const) {
      const answer = await fixture.app.inject({ method, url })
      expect([answer.statusCode, answer.body]).toEqual([405, '{"error":"method_not_allowed"}'])
    }
    expect((await fixture.app.inject({ method: 'HEAD', url })).statusCode).toBe(405)
  })
})

describe('GET /health', () => {
  test('200 { ok: true, sessions }', async () => {
    fixture.hub.openSessions = 3
    const answer = await fixture.get('/health')
    expect([answer.statusCode, answer.body]).toEqual([200, '{"ok":true,"sessions":3}'])
  })
})

describe('any other path', () => {
  test.each([
    '/no',
    '/verify/',
    '/write/x',
    '/doc/',
    '/doc/changelog',
    '/doc/../README.md',
    '/doc/..%2fREADME.md',
    '/package.json',
    '/src/main.ts',
    '/pages/',
    '/pages/../config.ts',
    '/vectors/seal.json',
    '/.env',
    '//etc/passwd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/authorize',
    '/token',
  ])('404 not_found: %s', async (url) => {
    for (const method of ['GET', 'POST', 'DELETE'] as const) {
      const answer = await fixture.app.inject({ method, url })
      expect([answer.statusCode, answer.body]).toEqual([404, '{"error":"not_found"}'])
    }
  })
})

describe('any other path, whatever is sent there', () => {
  test.each(['application/json', 'text/html', 'nonsense', 'application/x-www-form-urlencoded'])(
    '404 not_found: a body of type %s',
    async (type) => {
      const answer = await fixture.app.inject({
        method: 'POST',
        url: '/no',
        headers: { 'content-type': type },
        payload: '{"patient":',
      })
      expect([answer.statusCode, answer.body]).toEqual([404, '{"error":"not_found"}'])
    },
  )
})

describe('pages, documents and fixed files', () => {
  test.each(['/', '/index.html', '/clinician.html', '/echo.html'])(
    '200 %s: HTML under a strict policy',
    async (url) => {
      const answer = await fixture.get(url)
      expect(answer.statusCode).toBe(200)
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
      const policy = String(answer.headers['content-security-policy'])
      expect(policy).toContain("default-src 'none'")
      expect(policy).not.toContain('unsafe')
      const etag = String(answer.headers.etag)
      expect((await fixture.get(url, { 'if-none-match': etag })).statusCode).toBe(304)
      for (const [, path] of answer.body.matchAll(/(?:src|href)="(\/[^"#]*)"/g))
        expect([path, (await fixture.get(String(path))).statusCode]).toEqual([path, 200])
    },
  )

  test('/ and /index.html are one page; other methods on / are 405', async () => {
    expect((await fixture.get('/')).body).toBe((await fixture.get('/index.html')).body)
    expect((await fixture.app.inject({ method: 'POST', url: '/' })).statusCode).toBe(405)
  })

  test.each(['readme', 'verify', 'security', 'architecture'])(
    '200 /doc/%s: a rendered page',
    async (name) => {
      const answer = await fixture.get(`/doc/${name}`)
      expect(answer.statusCode).toBe(200)
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
      expect(answer.headers['content-security-policy']).toContain("script-src 'self'")
      expect(answer.body).toContain('<h1>')
      for (const [, path] of answer.body.matchAll(/href="(\/[^"#]*)"/g))
        expect([path, (await fixture.get(String(path))).statusCode]).not.toEqual([path, 404])
    },
  )

  test.each([
    ['/LICENSE', 'Apache License'],
    ['/CHANGELOG.md', '# Changelog'],
    ['/vectors/chain.json', '"preimage"'],
  ])('200 %s', async (url, text) => {
    const answer = await fixture.get(url)
    expect(answer.statusCode).toBe(200)
    expect(answer.body).toContain(text)
  })
})

describe('S4', () => {
  test.each(['/openapi.json', '/docs', '/ready', '/llms.txt'])('%s is served', async (url) => {
    expect((await fixture.get(url)).statusCode).toBe(200)
  })

  test('/metrics requires METRICS_TOKEN; no URI, sub or patient appears in it', async () => {
    const secretive = { patient: 'quill', domain: 'sleep', value: 'Early.', authorId: 'dr-moss' }
    await fixture.write(secretive)
    await fixture.get('/verify?uri=care://quill/sleep')
    expect((await fixture.get('/metrics')).statusCode).toBe(401)
    const { body } = await fixture.get('/metrics', {
      authorization: 'Bearer metrics-token-for-tests',
    })
    expect(body).toContain('care_writes_total{outcome="accepted",reason="ok",via="hmac"} 1')
    expect(body).toMatch(/care_sessions \d/)
    expect(body).toMatch(/care_replays_total [1-9]/)
    expect(body).not.toMatch(/quill|sleep|moss/)
  })

  test('/llms.txt says where MCP is', async () => {
    expect((await fixture.get('/llms.txt')).body).toContain(RESOURCE)
  })

  test('the API reference has every documented route', () => {
    const { paths } = fixture.app.swagger() as { paths: Record<string, unknown> }
    expect(Object.keys(paths).toSorted()).toEqual([
      '/.well-known/oauth-protected-resource',
      '/.well-known/oauth-protected-resource/mcp',
      '/.well-known/oauth-protected-resource/mcp/2026-07-28',
      '/health',
      '/mcp',
      '/mcp/2026-07-28',
      '/metrics',
      '/principal',
      '/reads',
      '/ready',
      '/unheard',
      '/verify',
      '/verify/checkpoint',
      '/verify/export',
      '/verify/proof',
      '/verify/witnesses',
      '/write',
    ])
  })
})

testErrors(careErrors, new URL('../README.md', import.meta.url), [
  '400 invalid_request',
  '413 payload_too_large',
])
