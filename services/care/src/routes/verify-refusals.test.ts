// What GET /verify and the routes below it refuse: care.md's Errors, and C18.
import { describe, expect, test } from 'vitest'
import { BASE_URL } from '../testing/care.fixture.ts'
import { useVerify } from './verify.fixture.ts'

const suite = useVerify({ isShared: true })
const { withToken } = suite

describe('401 invalid_token', () => {
  const metadata = `${BASE_URL}/.well-known/oauth-protected-resource/mcp`
  const challenge = `Bearer realm="care", resource_metadata="${metadata}"`
  const failed = `${challenge}, error="invalid_token", scope="care.read.user care.read.assistant care.write"`

  test.each([
    ['malformed', () => ({ authorization: 'Bearer nonsense' })],
    ['malformed', () => ({ authorization: 'bearer a.b.c' })],
    ['expired', () => withToken('care.read.user', { lifetimeSeconds: -1 })],
    ['wrong_audience', () => withToken('care.read.user', { audience: BASE_URL })],
    ['no_scopes', () => withToken('')],
  ])('a failing token: %s', async (failure, headers) => {
    for (const path of ['/verify', '/verify/export', '/verify/checkpoint']) {
      const answer = await suite.fixture.get(path, headers())
      expect(answer.statusCode).toBe(401)
      expect(answer.json()).toEqual({ error: 'invalid_token', error_description: failure })
      expect(answer.headers['www-authenticate']).toBe(failed)
    }
  })

  test.each(['Basic Y2FyZTpjYXJl', 'Bearer', 'Bearer a b', ''])(
    'no bearer token in %j: bearer token required',
    async (authorization) => {
      const answer = await suite.fixture.get('/verify', { authorization })
      expect(answer.json()).toEqual({
        error: 'invalid_token',
        error_description: 'bearer token required',
      })
      expect(answer.headers['www-authenticate']).toBe(challenge)
    },
  )
})

describe('404 not_found', () => {
  test.each([
    'care://ann/nothing',
    'care://ann/medication/3',
    'care-internal://ann/medication',
    'care://ann/plan',
    'care-internal://ann/plan',
    'care-internal://nobody/plan',
    'care://ann',
    'nonsense',
    '',
  ])('an unknown uri: %s', async (uri) => {
    const answer = await suite.fixture.get(`/verify?uri=${encodeURIComponent(uri)}`)
    expect(answer.statusCode).toBe(404)
    expect(answer.json()).toEqual({ error: 'not_found', uri })
  })

  test('a uri given twice names nothing', async () => {
    const answer = await suite.fixture.get('/verify?uri=care://ann/diet&uri=care://ann/medication')
    expect(answer.statusCode).toBe(404)
    expect(answer.json()).toEqual({ error: 'not_found', uri: 'care://ann/diet' })
  })

  test('C18: a hidden and an unknown URI give the same 404; for an internal one the store is not asked', async () => {
    const calls: unknown[] = []
    const { store } = suite.fixture
    const verify = store.verify.bind(store)
    const head = store.head.bind(store)
    suite.fixture.store.verify = (query) => {
      calls.push(['verify', { ...query, slot: undefined }])
      return verify(query)
    }
    suite.fixture.store.head = async (slot) => {
      calls.push('head')
      return head(slot)
    }
    const internal = ['care-internal://ann/plan', 'care-internal://ann/none']
    for (const route of ['/verify', '/verify/export']) {
      const seen = new Set<string>()
      const requested: unknown[] = []
      for (const uri of [...internal, 'care://ann/none']) {
        calls.length = 0
        const answer = await suite.fixture.get(`${route}?uri=${uri}`, withToken('care.read.user'))
        const { 'x-request-id': _, date: __, 'content-length': ___, ...headers } = answer.headers
        seen.add(JSON.stringify([answer.statusCode, answer.body.replace(uri, ''), headers]))
        requested.push([uri, calls.length === 0])
      }
      expect(seen.size).toBe(1)
      expect(requested.slice(0, 2)).toEqual(internal.map((uri) => [uri, true]))
    }
  })
})

describe('405 method_not_allowed', () => {
  test.each(['/verify', '/verify/export', '/verify/checkpoint'])('%s', async (url) => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH'] as const) {
      const answer = await suite.fixture.app.inject({ method, url, payload: 'x' })
      expect(answer.statusCode).toBe(405)
      expect(answer.json()).toEqual({ error: 'method_not_allowed' })
    }
  })
})
