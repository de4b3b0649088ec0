// /mcp as HTTP: authentication, the order of the checks, errors and limits, row by row of care.md.
import { request as httpRequest } from 'node:http'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  ASSISTANT,
  BASE_URL,
  BOTH,
  type ClientSession,
  initializeBody,
  type McpWorld,
  mcpWorld,
  USER,
} from './mcp-world.fixture.ts'

let world: McpWorld
let session: ClientSession
beforeAll(async () => {
  world = await mcpWorld()
  await world.write({})
  session = await world.open(BOTH)
})
afterAll(() => world.close())

const METADATA_URL = `${BASE_URL}/.well-known/oauth-protected-resource/mcp`
const BARE_CHALLENGE = `Bearer realm="care", resource_metadata="${METADATA_URL}"`
const FAILED_CHALLENGE = `${BARE_CHALLENGE}, error="invalid_token", scope="care.read.user care.read.assistant care.write"`
const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })

const rpcError = (code: number) => ({
  jsonrpc: '2.0',
  error: { code, message: expect.any(String) },
  id: null,
})
const inSession = (id = session.id) => ({ 'mcp-session-id': id })

/** A request with a Host header of the caller's choice, which fetch does not allow. */
const withHost = (
  host: string,
  { token, url = world.url }: { readonly token?: string; readonly url?: string } = {},
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
    const answer = await world.request('POST', { body: PING })
    expect(answer.status).toBe(401)
    expect(answer.body).toEqual({
      error: 'invalid_token',
      error_description: 'bearer token required',
    })
  })

  it('A 401 from /mcp carries WWW-Authenticate: Bearer realm="<service>", resource_metadata="<metadata_url>"', async () => {
    const none = await world.request('GET')
    expect(none.headers.get('www-authenticate')).toBe(BARE_CHALLENGE)
    const other = await world.request('GET', { headers: { authorization: 'Basic YTpi' } })
    expect(other.headers.get('www-authenticate')).toBe(BARE_CHALLENGE)
  })

  it('when a token was presented and failed, it also carries error="invalid_token" and scope="care.read.user care.read.assistant care.write"', async () => {
    for (const method of ['GET', 'POST', 'DELETE', 'PUT']) {
      const answer = await world.request(method, { token: 'no.good' })
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toBe(FAILED_CHALLENGE)
    }
  })

  it.each([
    ['malformed', () => 'a.b'],
    ['bad_alg', () => `${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`],
    ['bad_signature', () => `${world.token(BOTH).slice(0, -4)}AAAA`],
    ['expired', () => world.token(BOTH, { lifetimeSeconds: 0 })],
    ['wrong_audience', () => world.token(BOTH, { audience: 'https://other.test/mcp' })],
    ['no_scopes', () => world.token('')],
  ])('error_description = failure name: %s', async (failure, token) => {
    const answer = await world.request('POST', { token: token(), body: PING, headers: inSession() })
    expect(answer.status).toBe(401)
    expect(answer.body).toEqual({ error: 'invalid_token', error_description: failure })
  })

  it('Tokens in the query string are not accepted', async () => {
    const token = world.token(BOTH)
    const answer = await fetch(`${world.url}?access_token=${token}&token=${token}`, {
      method: 'POST',
      body: PING,
      headers: inSession(),
    })
    expect(answer.status).toBe(401)
  })

  it('A session is bound to the sub that opened it; the session id is not a credential', async () => {
    const other = world.token(BOTH, { sub: 'somebody-else' })
    const answer = await world.request('POST', { token: other, body: PING, headers: inSession() })
    expect(answer.status).toBe(403)
    const anonymous = await world.request('POST', { body: PING, headers: inSession() })
    expect(anonymous.status).toBe(401)
  })

  it('A client cannot present its own scope list; scopes come only from the signed claims', async () => {
    await world.write({ domain: 'plan', audience: 'assistant', value: 'secret' })
    const user = await world.open(USER)
    const answer = await user.call('resources/read', {
      uri: 'care-internal://ann/plan',
      scope: BOTH,
      scopes: [ASSISTANT],
      _meta: { scope: BOTH },
    })
    expect(answer.error?.code).toBe(-32002)
  })
})

describe('MCP session', () => {
  it('none | POST /mcp initialize | valid token | open (session id issued in mcp-session-id) | session bound to the token’s sub', async () => {
    const answer = await world.request('POST', {
      token: world.token(USER),
      body: JSON.stringify(initializeBody()),
    })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toContain('application/json')
    expect(answer.headers.get('mcp-session-id')).toMatch(/^[\w-]{32}$/)
    expect(answer.body.result).toMatchObject({
      protocolVersion: '2025-11-25',
      capabilities: {
        resources: { subscribe: true, listChanged: true },
        completions: {},
        prompts: {},
        logging: {},
        tools: {},
      },
      serverInfo: { name: 'tallystick-care' },
      instructions: expect.stringContaining('care-internal://'),
    })
  })

  it('open | POST or GET /mcp with the session id | same sub | principal of the session is refreshed from the presented token', async () => {
    await world.write({ domain: 'refresh', audience: 'assistant' })
    const held = await world.open(USER)
    const read = { uri: 'care-internal://ann/refresh' }
    expect((await held.call('resources/read', read)).error?.code).toBe(-32002)
    held.token = world.token(BOTH)
    expect((await held.call('resources/read', read)).result).toBeDefined()
    held.token = world.token(USER)
    const stream = await held.stream()
    stream.drop()
    expect((await held.call('resources/read', read)).error?.code).toBe(-32002)
  })

  it('open | request with a different sub | open | 403', async () => {
    for (const method of ['POST', 'GET', 'DELETE']) {
      const answer = await world.request(method, {
        token: world.token(BOTH, { sub: 'other' }),
        headers: inSession(),
        ...(method === 'POST' ? { body: PING } : {}),
      })
      expect(answer.status).toBe(403)
      expect(answer.body).toEqual(rpcError(-32003))
    }
    expect((await session.call('ping')).result).toEqual({})
  })

  it('open | DELETE /mcp | same sub | closed | subscriptions and listeners dropped', async () => {
    const held = await world.open(USER)
    await held.subscribe('care://ann/medication')
    const stream = await held.stream()
    const before = world.endpoint.figures()
    expect((await held.end()).status).toBe(200)
    await expect.poll(() => stream.hasEnded).toBe(true)
    const after = world.endpoint.figures()
    expect(after.sessions).toBe(before.sessions - 1)
    expect(after.subscriptions).toBe(before.subscriptions - 1)
    await expect.poll(() => world.endpoint.figures().streams).toBe(before.streams - 1)
    const gone = await world.request('POST', {
      token: held.token,
      headers: inSession(held.id),
      body: PING,
    })
    expect(gone.status).toBe(404)
    expect((await held.end()).status).toBe(404)
  })

  it('C1: never negotiates below 2025-11-25', async () => {
    for (const asked of ['2024-11-05', '2025-06-18', '2026-07-28', 'anything']) {
      const answer = await world.request('POST', {
        token: world.token(USER, { sub: 'negotiator' }),
        body: JSON.stringify(initializeBody(asked)),
      })
      expect(answer.body.result?.['protocolVersion']).toBe('2025-11-25')
    }
  })

  it('an initialize in a session that is open is refused', async () => {
    const answer = await world.request('POST', {
      token: session.token,
      headers: inSession(),
      body: JSON.stringify(initializeBody()),
    })
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual(rpcError(-32600))
  })

  it('an initialize with other parameters is -32602 and opens nothing', async () => {
    const before = world.endpoint.figures().sessions
    const answer = await world.request('POST', {
      token: session.token,
      body: JSON.stringify({ jsonrpc: '2.0', id: 'x', method: 'initialize', params: {} }),
    })
    expect(answer.body).toMatchObject({ id: 'x', error: { code: -32602 } })
    expect(world.endpoint.figures().sessions).toBe(before)
  })
})

describe('Errors', () => {
  it('400 | /mcp | JSON-RPC error -32700 | body is not JSON', async () => {
    for (const body of ['{', '', 'null,', Uint8Array.of(0x22, 0xff, 0x22)]) {
      const answer = await world.request('POST', {
        token: session.token,
        headers: inSession(),
        body,
      })
      expect(answer.status).toBe(400)
      expect(answer.body).toEqual(rpcError(-32700))
    }
  })

  it('400 | /mcp | JSON-RPC error -32000 | no session and not an initialize request; or GET/DELETE without mcp-session-id', async () => {
    for (const [method, body] of [
      ['POST', PING],
      ['POST', '[]'],
      ['POST', '5'],
      ['GET', undefined],
      ['DELETE', undefined],
    ] as const) {
      const answer = await world.request(method, {
        token: session.token,
        ...(body === undefined ? {} : { body }),
      })
      expect(answer.status).toBe(400)
      expect(answer.body).toEqual(rpcError(-32000))
    }
  })

  it('404 | /mcp | JSON-RPC error -32001 | session id unknown', async () => {
    for (const method of ['POST', 'GET', 'DELETE']) {
      const answer = await world.request(method, {
        token: session.token,
        headers: inSession('unknown'),
        ...(method === 'POST' ? { body: PING } : {}),
      })
      expect(answer.status).toBe(404)
      expect(answer.body).toEqual(rpcError(-32001))
    }
  })

  it('403 | /mcp | JSON-RPC error -32003 | session belongs to another sub', async () => {
    const answer = await world.request('POST', {
      token: world.token(BOTH, { sub: 'other' }),
      headers: inSession(),
      body: PING,
    })
    expect(answer.status).toBe(403)
    expect(answer.body).toEqual(rpcError(-32003))
  })

  it('405 | /mcp | JSON-RPC error -32000 | method other than POST, GET, DELETE', async () => {
    for (const method of ['PUT', 'PATCH', 'QUERY', 'PROPFIND']) {
      const answer = await world.request(method, { token: session.token, headers: inSession() })
      expect(answer.status).toBe(405)
      expect(answer.body).toEqual(rpcError(-32000))
      expect(answer.headers.get('allow')).toBe('DELETE, GET, OPTIONS, POST')
    }
    const head = await world.request('HEAD', { token: session.token })
    expect(head.status).toBe(405)
  })

  it('413 | /mcp | error = payload_too_large | body over the limit', async () => {
    const answer = await world.request('POST', {
      token: session.token,
      headers: inSession(),
      body: `"${'a'.repeat(262_144)}"`,
    })
    expect(answer.status).toBe(413)
    expect(answer.body).toEqual({ error: 'payload_too_large' })
  })

  it('Maximum request body | 262144 bytes (256 KiB): one that has exactly so many is read', async () => {
    const frame = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params: { pad: '' } })
    const body = frame.replace('""', `"${'a'.repeat(262_144 - frame.length)}"`)
    expect(body).toHaveLength(262_144)
    const answer = await world.request('POST', { token: session.token, headers: inSession(), body })
    expect(answer.status).toBe(200)
  })

  it('MCP read of an unreadable or nonexistent record: code -32002, identical for both', async () => {
    await world.write({ domain: 'hidden', audience: 'assistant' })
    const user = await world.open(USER)
    const hidden = await user.call('resources/read', { uri: 'care-internal://ann/hidden' })
    const absent = await user.call('resources/read', { uri: 'care-internal://ann/absent' })
    expect(hidden.error).toEqual({
      code: -32002,
      message: 'Resource not found',
      data: { uri: 'care-internal://ann/hidden' },
    })
    expect({ ...hidden.error, data: undefined }).toEqual({ ...absent.error, data: undefined })
  })

  it('JSON that is no JSON-RPC message is -32600, a batch among it', async () => {
    for (const body of [
      '[]',
      `[${PING}]`,
      '{}',
      '"ping"',
      '{"jsonrpc":"1.0","id":1,"method":"ping"}',
      '{"jsonrpc":"2.0","id":null,"method":"ping"}',
      '{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
      '{"jsonrpc":"2.0","id":1,"method":7}',
      '{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}',
      '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":5}}',
      '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":{}}}}',
      '{"jsonrpc":"2.0","id":1e300,"method":"ping"}',
    ]) {
      const answer = await world.request('POST', {
        token: session.token,
        headers: inSession(),
        body,
      })
      expect([body, answer.status]).toEqual([body, 400])
      expect(answer.body).toEqual(rpcError(-32600))
    }
  })
})

describe('whatever comes', () => {
  it('is answered, and never with 500', async () => {
    const text = fc.oneof(
      fc.json(),
      fc.string(),
      fc
        .record({
          jsonrpc: fc.constant('2.0'),
          id: fc.oneof(fc.string(), fc.integer(), fc.jsonValue()),
          method: fc.constantFrom(
            'resources/list',
            'resources/read',
            'resources/subscribe',
            'completion/complete',
            'prompts/get',
            'tools/call',
            'logging/setLevel',
            'notifications/cancelled',
            'ping',
          ),
          params: fc.oneof(
            fc.jsonValue(),
            fc.record({ _meta: fc.jsonValue() }),
            fc.record({ uri: fc.oneof(fc.string(), fc.constant('care://ann/medication/1')) }),
            fc.record({ name: fc.string(), arguments: fc.jsonValue(), ref: fc.jsonValue() }),
          ),
        })
        .map((message) => JSON.stringify(message)),
    )
    await fc.assert(
      fc.asyncProperty(text, async (body) => {
        const { token } = session
        const answer = await world.request('POST', { token, headers: inSession(), body })
        expect([200, 202, 400]).toContain(answer.status)
        expect(answer.body.error?.code).not.toBe(-32603)
      }),
      { numRuns: 500 },
    )
    expect(world.events.filter(({ kind }) => kind === 'request-failed')).toEqual([])
  })
})

describe('C2: the order of the checks on /mcp', () => {
  it('Host (403) comes before the token (401)', async () => {
    expect(await withHost('evil.example.com')).toBe(403)
    expect(await withHost('care.test')).toBe(401)
  })

  it('the Host allow-list is the base URL’s host, localhost, loopback, with any port', async () => {
    for (const host of ['care.test', 'CARE.test:8443', 'localhost:3002', '127.0.0.1', '[::1]:80'])
      expect([host, await withHost(host, session)]).toEqual([host, 200])
    for (const host of ['care.test.evil.com', 'evil.com', 'localhost.evil.com', '127.0.0.2'])
      expect([host, await withHost(host, session)]).toEqual([host, 403])
  })

  it('and the names of ALLOWED_HOSTS, whatever port they name', async () => {
    const proxied = await mcpWorld({ allowedHosts: ['care.example.org', 'care.internal:8443'] })
    const statusOf = (host: string) => withHost(host, { url: proxied.url })
    for (const host of ['care.example.org', 'Care.example.org:444', 'care.internal', 'care.test'])
      expect([host, await statusOf(host)]).toEqual([host, 401])
    for (const host of ['example.org', 'x.care.internal'])
      expect([host, await statusOf(host)]).toEqual([host, 403])
    await proxied.close()
  })

  it('token (401) comes before method (405)', async () => {
    expect((await world.request('PUT')).status).toBe(401)
  })

  it('size (413) comes before the session header (400)', async () => {
    const answer = await world.request('POST', { token: session.token, body: 'x'.repeat(300_000) })
    expect(answer.status).toBe(413)
  })

  it('the token (401) comes before size (413)', async () => {
    expect((await world.request('POST', { body: 'x'.repeat(300_000) })).status).toBe(401)
  })

  it('JSON (-32700) comes before the session header (400 -32000)', async () => {
    const answer = await world.request('POST', { token: session.token, body: '{' })
    expect(answer.body).toEqual(rpcError(-32700))
  })

  it('known (404) comes before owner (403)', async () => {
    const answer = await world.request('POST', {
      token: world.token(USER, { sub: 'other' }),
      headers: inSession('unknown'),
      body: PING,
    })
    expect(answer.status).toBe(404)
  })
})

describe('C1: MCP-Protocol-Version', () => {
  it.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'])(
    'any known dated one is accepted: %s',
    async (version) => {
      const answer = await world.request('POST', {
        token: session.token,
        headers: { ...inSession(), 'mcp-protocol-version': version },
        body: PING,
      })
      expect(answer.status).toBe(200)
    },
  )

  it.each(['2025-11-26', '1', 'latest', ''])('an unknown one is 400: %j', async (version) => {
    for (const [method, body] of [
      ['POST', PING],
      ['GET', undefined],
      ['DELETE', undefined],
    ] as const) {
      const answer = await world.request(method, {
        token: session.token,
        headers: { ...inSession(), 'mcp-protocol-version': version },
        ...(body === undefined ? {} : { body }),
      })
      expect(answer.status).toBe(400)
      expect(answer.body).toEqual(rpcError(-32000))
    }
  })
})

const post = (accept?: string) =>
  world.request('POST', {
    token: session.token,
    headers: { ...inSession(), ...(accept === undefined ? {} : { accept }) },
    body: PING,
  })

describe('C3: POST answers', () => {
  it('are application/json where the client accepts it', async () => {
    for (const accept of [
      undefined,
      '*/*',
      'application/json',
      'application/json, text/event-stream',
      'text/event-stream, application/*;q=0.5',
    ]) {
      const answer = await post(accept)
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(answer.body).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
    }
  })

  it('are SSE otherwise', async () => {
    const answer = await post('text/event-stream')
    expect(answer.headers.get('content-type')).toContain('text/event-stream')
    expect(answer.text).toBe('event: message\ndata: {"result":{},"jsonrpc":"2.0","id":1}\n\n')
  })

  it('to notifications and responses are 202 without a body', async () => {
    for (const message of [
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 5, result: {} },
      { jsonrpc: '2.0', id: 5, error: { code: 1, message: '' } },
    ]) {
      const answer = await world.request('POST', {
        token: session.token,
        headers: inSession(),
        body: JSON.stringify(message),
      })
      expect([answer.status, answer.text]).toEqual([202, ''])
    }
  })

  it('to unknown methods are -32601', async () => {
    for (const method of [
      'tasks/list',
      'roots/list',
      'server/discover',
      '__proto__',
      'constructor',
    ])
      expect((await session.call(method)).error?.code).toBe(-32601)
  })

  it('are never stored by anybody on the way', async () => {
    const answer = await session.call('ping')
    expect(answer.result).toEqual({})
    expect((await post()).headers.get('cache-control')).toBe('no-store')
  })
})

describe('CORS', () => {
  it('is on JSON answers, refusals and streams alike', async () => {
    const origin = { origin: 'https://host.test' }
    const answers = [
      await world.request('POST', { headers: origin }),
      await world.request('POST', {
        token: session.token,
        headers: { ...origin, ...inSession() },
        body: PING,
      }),
    ]
    for (const { headers } of answers) {
      expect(headers.get('access-control-allow-origin')).toBe('https://host.test')
      expect(headers.get('access-control-expose-headers')).toContain('mcp-session-id')
    }
    const stream = await session.stream()
    expect(stream.headers['access-control-allow-origin']).toBe('*')
    expect(stream.headers['access-control-expose-headers']).toContain('mcp-session-id')
    stream.drop()
  })
})
