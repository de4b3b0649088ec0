import { connect } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { listeningUrl } from './run-service.ts'
import { buildThing, closeThings, lines } from './thing-service.fixture.ts'

afterEach(closeThings)

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
    const app = await buildThing()
    const response = await app.inject('/thing?agent=nothex')
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual({
      error: 'invalid_request',
      issues: [{ field: 'query.agent', expected: 'two hex digits' }],
    })
  })

  test('a repeated parameter is refused', async () => {
    const app = await buildThing()
    const response = await app.inject('/thing?agent=0xaa&agent=0xbb')
    expect(response.statusCode).toBe(400)
  })

  test('a refused body names the path of the bad value', async () => {
    const app = await buildThing()
    const payload = { picks: [{ price: 2 }, { price: 0.5 }] }
    const response = await app.inject({ method: 'POST', url: '/paid', payload })
    expect(response.statusCode).toBe(400)
    expect(response.json().issues[0].field).toBe('body.picks[1].price')
  })

  test('a service may word it itself', async () => {
    const app = await buildThing({
      errors: { invalidRequest: () => ({ status: 400, error: 'invalid_agent' }) },
    })
    const response = await app.inject('/thing')
    expect(response.json()).toEqual({ error: 'invalid_agent' })
  })

  test.each([
    { title: 'a path that is not served', url: '/nowhere', status: 404, error: 'not_found' },
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
    const app = await buildThing()
    const response = await app.inject(url)
    expect(response.statusCode).toBe(status)
    expect(response.json()).toEqual({ error })
    expect(response.headers['x-request-id']).toBe('request-1')
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
  })

  test('S9: a page of another origin may read the router’s refusals, and asks for leave as anywhere', async () => {
    const app = await buildThing()
    const preflight = await app.inject({ method: 'OPTIONS', url: '/%zz' })
    expect([preflight.statusCode, preflight.body]).toEqual([204, ''])
    const refused = await app.inject('/%zz')
    expect([refused.statusCode, refused.json()]).toEqual([400, { error: 'malformed_url' }])
    expect(refused.headers['access-control-allow-origin']).toBe('*')
  })

  test('an unknown path is 404, whatever the body that nobody will read', async () => {
    const app = await buildThing()
    for (const payload of ['{"picks":', `"${'a'.repeat(70_000)}"`]) {
      const headers = { 'content-type': 'application/json' }
      const answer = await app.inject({ method: 'POST', url: '/nowhere', headers, payload })
      expect([answer.statusCode, answer.json()]).toEqual([404, { error: 'not_found' }])
    }
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
    const app = await buildThing()
    const headers = { 'content-type': type ?? 'application/json' }
    const response = await app.inject({ method: 'POST', url: '/paid', payload, headers })
    expect(response.statusCode).toBe(status)
    expect(response.json()).toEqual({ error })
  })

  test('an empty body with a JSON content type counts as no body', async () => {
    const app = await buildThing()
    const headers = { 'content-type': 'application/json' }
    const response = await app.inject({ method: 'POST', url: '/probe', headers, payload: '' })
    expect(response.json()).toEqual({ hasBody: false })
  })

  test('the text of an exception never leaves the process, and is logged with its stack', async () => {
    const app = await buildThing()
    const response = await app.inject('/bug')
    expect(response.payload).not.toContain('hunter2')
    const logged = lines.find((line) => line['level'] === 'error')
    expect(logged).toMatchObject({ msg: 'internal error', err: { stack: expect.any(String) } })
  })

  test.each([
    {
      title: 'bytes that are not HTTP',
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
    const app = await buildThing()
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
    const app = await buildThing()
    const response = await app.inject({ method: method as 'GET', url })
    expect(response.statusCode).toBe(405)
    expect(response.headers['allow']).toBe(allow)
    expect(['', '{"error":"method_not_allowed"}']).toContain(response.payload)
  })

  test('before the body is read', async () => {
    const app = await buildThing()
    const headers = { 'content-type': 'application/json' }
    const response = await app.inject({ method: 'PUT', url: '/paid', payload: '{', headers })
    expect(response.statusCode).toBe(405)
    expect(response.json()).toEqual({ error: 'method_not_allowed' })
  })
})
