// Who gets in at /mcp: authentication, and the order of the checks, as in care.md and C2.
import { request as httpRequest } from 'node:http'
import { describe, expect, it } from 'vitest'
import { ASSISTANT, BASE_URL, BOTH, startMcp, USER } from '../mcp.fixture.ts'
import { PING, rpcError, useMcpRoute } from './mcp-route.fixture.ts'

const suite = useMcpRoute()
const { inSession } = suite

const METADATA_URL = `${BASE_URL}/.well-known/oauth-protected-resource/mcp`
const BARE_CHALLENGE = `Bearer realm="care", resource_metadata="${METADATA_URL}"`
const FAILED_CHALLENGE = `${BARE_CHALLENGE}, error="invalid_token", scope="care.read.user care.read.assistant care.write"`

/** A request with an arbitrary Host header, which fetch does not allow. */
const withHost = (
  host: string,
  { token, url = suite.fixture.url }: { readonly token?: string; readonly url?: string } = {},
): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const sent = httpRequest(
      url,
      {
        method: 'POST',
        headers: {
          host,
          ...inSession(),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
      },
      (response) => {
        response.resume()
        resolve(response.statusCode)
      },
    )
    sent.on('error', reject)
    sent.end(PING)
  })

describe('Authentication', () => {
  it('/mcp requires Authorization: Bearer <ACCESS_TOKEN>', async () => {
    const answer = await suite.fixture.request('POST', { body: PING })
    expect(answer.status).toBe(401)
    expect(answer.body).toEqual({
      error: 'invalid_token',
      error_description: 'bearer token required',
    })
  })

  it('A 401 from /mcp carries WWW-Authenticate: Bearer realm="<service>", resource_metadata="<metadata_url>"', async () => {
    const none = await suite.fixture.request('GET')
    expect(none.headers.get('www-authenticate')).toBe(BARE_CHALLENGE)
    const other = await suite.fixture.request('GET', { headers: { authorization: 'Basic YTpi' } })
    expect(other.headers.get('www-authenticate')).toBe(BARE_CHALLENGE)
  })

  it('when a token was presented and failed, it also carries error="invalid_token" and scope="care.read.user care.read.assistant care.write"', async () => {
    for (const method of ['GET', 'POST', 'DELETE', 'PUT']) {
      const answer = await suite.fixture.request(method, { token: 'no.good' })
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toBe(FAILED_CHALLENGE)
    }
  })

  it.each([
    ['malformed', () => 'a.b'],
    ['bad_alg', () => `${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`],
    ['bad_signature', () => `${suite.fixture.token(BOTH).slice(0, -4)}AAAA`],
    ['expired', () => suite.fixture.token(BOTH, { lifetimeSeconds: 0 })],
    ['wrong_audience', () => suite.fixture.token(BOTH, { audience: 'https://other.test/mcp' })],
    ['no_scopes', () => suite.fixture.token('')],
  ])('error_description = failure name: %s', async (failure, token) => {
    const answer = await suite.fixture.request('POST', {
      token: token(),
      body: PING,
      headers: inSession(),
    })
    expect(answer.status).toBe(401)
    expect(answer.body).toEqual({ error: 'invalid_token', error_description: failure })
  })

  it('Tokens in the query string are not accepted', async () => {
    const token = suite.fixture.token(BOTH)
    const answer = await fetch(`${suite.fixture.url}?access_token=${token}&token=${token}`, {
      method: 'POST',
      body: PING,
      headers: inSession(),
    })
    expect(answer.status).toBe(401)
  })

  it('A session is bound to the sub that opened it; the session id is not a credential', async () => {
    const other = suite.fixture.token(BOTH, { sub: 'somebody-else' })
    const answer = await suite.fixture.request('POST', {
      token: other,
      body: PING,
      headers: inSession(),
    })
    expect(answer.status).toBe(403)
    const anonymous = await suite.fixture.request('POST', { body: PING, headers: inSession() })
    expect(anonymous.status).toBe(401)
  })

  it('A client cannot present its own scope list; scopes come only from the signed claims', async () => {
    await suite.fixture.write({ domain: 'plan', audience: 'assistant', value: 'secret' })
    const user = await suite.fixture.open(USER)
    const answer = await user.call('resources/read', {
      uri: 'care-internal://ann/plan',
      scope: BOTH,
      scopes: [ASSISTANT],
      _meta: { scope: BOTH },
    })
    expect(answer.error?.code).toBe(-32002)
  })
})

describe('C2: the order of the checks on /mcp', () => {
  it('Host (403) comes before the token (401)', async () => {
    expect(await withHost('evil.example.com')).toBe(403)
    expect(await withHost('care.test')).toBe(401)
  })

  it('the Host allow-list is the base URL’s host, localhost and loopback, with any port', async () => {
    for (const host of ['care.test', 'CARE.test:8443', 'localhost:3002', '127.0.0.1', '[::1]:80'])
      expect([host, await withHost(host, suite.session)]).toEqual([host, 200])
    for (const host of ['care.test.evil.com', 'evil.com', 'localhost.evil.com', '127.0.0.2'])
      expect([host, await withHost(host, suite.session)]).toEqual([host, 403])
  })

  it('and the names in ALLOWED_HOSTS, whatever port they have', async () => {
    const proxied = await startMcp({ allowedHosts: ['care.example.org', 'care.internal:8443'] })
    const readStatus = (host: string) => withHost(host, { url: proxied.url })
    for (const host of ['care.example.org', 'Care.example.org:444', 'care.internal', 'care.test'])
      expect([host, await readStatus(host)]).toEqual([host, 401])
    for (const host of ['example.org', 'x.care.internal'])
      expect([host, await readStatus(host)]).toEqual([host, 403])
    await proxied.close()
  })

  it('token (401) comes before method (405)', async () => {
    expect((await suite.fixture.request('PUT')).status).toBe(401)
  })

  it('size (413) comes before the session header (400)', async () => {
    const answer = await suite.fixture.request('POST', {
      token: suite.session.token,
      body: 'x'.repeat(300_000),
    })
    expect(answer.status).toBe(413)
  })

  it('the token (401) comes before size (413)', async () => {
    expect((await suite.fixture.request('POST', { body: 'x'.repeat(300_000) })).status).toBe(401)
  })

  it('JSON (-32700) comes before the session header (400 -32000)', async () => {
    const answer = await suite.fixture.request('POST', { token: suite.session.token, body: '{' })
    expect(answer.body).toEqual(rpcError(-32700))
  })

  it('known (404) comes before owner (403)', async () => {
    const answer = await suite.fixture.request('POST', {
      token: suite.fixture.token(USER, { sub: 'other' }),
      headers: inSession('unknown'),
      body: PING,
    })
    expect(answer.status).toBe(404)
  })
})
