// /mcp as HTTP: sessions, versions of the protocol, and the forms of its answers.
import { describe, expect, it } from 'vitest'
import { BOTH, initializeBody, USER } from '../mcp.fixture.ts'
import { PING, rpcError, useMcpRoute } from './mcp-route.fixture.ts'

const suite = useMcpRoute()
const { inSession } = suite

describe('MCP session', () => {
  it('none | POST /mcp initialize | valid token | open (session id issued in mcp-session-id) | session bound to the token’s sub', async () => {
    const answer = await suite.fixture.request('POST', {
      token: suite.fixture.token(USER),
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
    await suite.fixture.write({ domain: 'refresh', audience: 'assistant' })
    const pending = await suite.fixture.open(USER)
    const read = { uri: 'care-internal://ann/refresh' }
    expect((await pending.call('resources/read', read)).error?.code).toBe(-32002)
    pending.token = suite.fixture.token(BOTH)
    expect((await pending.call('resources/read', read)).result).toBeDefined()
    pending.token = suite.fixture.token(USER)
    const stream = await pending.stream()
    stream.drop()
    expect((await pending.call('resources/read', read)).error?.code).toBe(-32002)
  })

  it('open | request with a different sub | open | 403', async () => {
    for (const method of ['POST', 'GET', 'DELETE']) {
      const answer = await suite.fixture.request(method, {
        token: suite.fixture.token(BOTH, { sub: 'other' }),
        headers: inSession(),
        ...(method === 'POST' ? { body: PING } : {}),
      })
      expect(answer.status).toBe(403)
      expect(answer.body).toEqual(rpcError(-32003))
    }
    expect((await suite.session.call('ping')).result).toEqual({})
  })

  it('open | DELETE /mcp | same sub | closed | subscriptions and listeners dropped', async () => {
    const current = await suite.fixture.open(USER)
    await current.subscribe('care://ann/medication')
    const stream = await current.stream()
    const before = suite.fixture.endpoint.figures()
    expect((await current.end()).status).toBe(200)
    await expect.poll(() => stream.hasEnded).toBe(true)
    const after = suite.fixture.endpoint.figures()
    expect(after.sessions).toBe(before.sessions - 1)
    expect(after.subscriptions).toBe(before.subscriptions - 1)
    await expect.poll(() => suite.fixture.endpoint.figures().streams).toBe(before.streams - 1)
    const gone = await suite.fixture.request('POST', {
      token: current.token,
      headers: inSession(current.id),
      body: PING,
    })
    expect(gone.status).toBe(404)
    expect((await current.end()).status).toBe(404)
  })

  it('C1: never negotiates below 2025-11-25', async () => {
    for (const requested of ['2024-11-05', '2025-06-18', '2026-07-28', 'anything']) {
      const answer = await suite.fixture.request('POST', {
        token: suite.fixture.token(USER, { sub: 'negotiator' }),
        body: JSON.stringify(initializeBody(requested)),
      })
      expect(answer.body.result?.['protocolVersion']).toBe('2025-11-25')
    }
  })

  it('an initialize in an open session is refused', async () => {
    const answer = await suite.fixture.request('POST', {
      token: suite.session.token,
      headers: inSession(),
      body: JSON.stringify(initializeBody()),
    })
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual(rpcError(-32600))
  })

  it('an initialize with invalid parameters is -32602 and opens nothing', async () => {
    const before = suite.fixture.endpoint.figures().sessions
    const answer = await suite.fixture.request('POST', {
      token: suite.session.token,
      body: JSON.stringify({ jsonrpc: '2.0', id: 'x', method: 'initialize', params: {} }),
    })
    expect(answer.body).toMatchObject({ id: 'x', error: { code: -32602 } })
    expect(suite.fixture.endpoint.figures().sessions).toBe(before)
  })
})

describe('C1: MCP-Protocol-Version', () => {
  it.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'])(
    'any known date is accepted: %s',
    async (version) => {
      const answer = await suite.fixture.request('POST', {
        token: suite.session.token,
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
      const answer = await suite.fixture.request(method, {
        token: suite.session.token,
        headers: { ...inSession(), 'mcp-protocol-version': version },
        ...(body === undefined ? {} : { body }),
      })
      expect(answer.status).toBe(400)
      expect(answer.body).toEqual(rpcError(-32000))
    }
  })
})

const post = (accept?: string) =>
  suite.fixture.request('POST', {
    token: suite.session.token,
    headers: { ...inSession(), ...(accept === undefined ? {} : { accept }) },
    body: PING,
  })

describe('C3: POST answers', () => {
  it('are application/json if the client accepts it', async () => {
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
      const answer = await suite.fixture.request('POST', {
        token: suite.session.token,
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
      expect((await suite.session.call(method)).error?.code).toBe(-32601)
  })

  it('must not be stored by anyone along the way', async () => {
    const answer = await suite.session.call('ping')
    expect(answer.result).toEqual({})
    expect((await post()).headers.get('cache-control')).toBe('no-store')
  })
})

describe('CORS', () => {
  it('is on JSON answers, refusals and streams alike', async () => {
    const origin = { origin: 'https://host.test' }
    const answers = [
      await suite.fixture.request('POST', { headers: origin }),
      await suite.fixture.request('POST', {
        token: suite.session.token,
        headers: { ...origin, ...inSession() },
        body: PING,
      }),
    ]
    for (const { headers } of answers) {
      expect(headers.get('access-control-allow-origin')).toBe('https://host.test')
      expect(headers.get('access-control-expose-headers')).toContain('mcp-session-id')
    }
    const stream = await suite.session.stream()
    expect(stream.headers['access-control-allow-origin']).toBe('*')
    expect(stream.headers['access-control-expose-headers']).toContain('mcp-session-id')
    stream.drop()
  })
})
