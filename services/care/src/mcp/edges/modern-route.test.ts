// C21: the revision without sessions, at its own path and for its own tokens. The rows of its error table are tests.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MODERN_MCP_PATH } from '../../routes/service-routes.ts'
import { BASE_URL, BOTH, type McpFixture, MODERN_AUDIENCE, startMcp, USER } from '../mcp.fixture.ts'
import { EventReader } from '../sessions/event-reader.fixture.ts'
import { ENVELOPE, modernBody, modernCalls, modernHeaders } from './modern.fixture.ts'

let fixture: McpFixture
const { call, post, issueToken } = modernCalls(() => fixture)
const METADATA = `${BASE_URL}/.well-known/oauth-protected-resource/mcp/2026-07-28`
const READ = 'scope="care.read.user care.read.assistant"'
const TEA = { uri: 'care://ann/tea' }
const LIST = 'resources/list'

const stored = async (method: string, params = {}) => (await call(BOTH, method, params)).body.result

beforeAll(async () => {
  fixture = await startMcp({
    extensions: {
      methods: { 'events/list': async ({ principal }) => ({ events: [], for: principal.sub }) },
      capabilities: { events: {} },
    },
  })
  await fixture.write({ domain: 'tea', value: 'One sugar.' })
  await fixture.write({ domain: 'tea', value: 'No sugar.' })
  await fixture.write({ domain: 'plan', audience: 'assistant', value: 'Watch for falls.' })
})
afterAll(() => fixture.close())

describe('C21: 2026-07-28 at its own path', () => {
  it('server/discover names this version alone, what it can do, and how long that holds', async () => {
    const { body, headers, status } = await call(USER, 'server/discover')
    expect([status, headers.get('mcp-session-id')]).toEqual([200, null])
    expect(body.result).toEqual({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: {
        resources: { subscribe: true, listChanged: true },
        completions: {},
        prompts: {},
        tools: {},
        events: {},
      },
      instructions: expect.stringContaining('care-internal://'),
      ttlMs: 300_000,
      cacheScope: 'public',
      _meta: {
        'io.modelcontextprotocol/serverInfo': { name: 'tallystick-care', version: '0.0.0' },
      },
    })
  })

  it('reads and lists of records are never kept; what is the same for all is', async () => {
    for (const [method, params] of [
      [LIST, {}],
      ['resources/read', TEA],
    ] as const)
      expect(await stored(method, params)).toMatchObject({ ttlMs: 0, cacheScope: 'private' })
    for (const method of ['resources/templates/list', 'prompts/list', 'tools/list']) {
      const forAll = await stored(method)
      expect(forAll).toMatchObject({ ttlMs: 300_000, cacheScope: 'public' })
      expect((await call(USER, method)).body.result).toEqual(forAll)
    }
    expect(await stored('tools/call', { name: 'list_records' })).not.toHaveProperty('ttlMs')
  })

  it('serves records by the functions of a session: the same read, list, prompt, tool and completion', async () => {
    const session = await fixture.open(USER)
    for (const [method, params] of [
      [LIST, {}],
      ['resources/read', TEA],
      ['prompts/get', { name: 'brief_carer', arguments: { patient: 'ann' } }],
      ['tools/call', { name: 'whats_changed', arguments: { patient: 'ann' } }],
      [
        'completion/complete',
        {
          ref: { type: 'ref/prompt', name: 'brief_carer' },
          argument: { name: 'patient', value: '' },
        },
      ],
    ] as const) {
      const { body } = await call(USER, method, params)
      expect(body.result).toMatchObject({ ...(await session.result(method, params)), _meta: {} })
      expect(body.result).toMatchObject({ resultType: 'complete' })
    }
    await session.end()
  })

  it('a method that came in at composition is served, for the principal of its token', async () => {
    expect((await call(USER, 'events/list')).body.result).toMatchObject({
      resultType: 'complete',
      for: 'host',
    })
  })

  it('a read carries its retraction', async () => {
    const { body } = await call(USER, 'resources/read', TEA)
    expect(body.result?.['_meta']).toMatchObject({
      'care/retraction': expect.stringContaining('One sugar.'),
    })
  })
})

describe('401 and 403', () => {
  it.each([
    ['without a token', () => undefined, ''],
    ['of /mcp', () => fixture.token(USER), ', error="invalid_token"'],
    ['that expired', () => fixture.token(USER, { lifetimeSeconds: -1 }), ', error="invalid_token"'],
  ])('a request %s is 401, and says which scopes read', async (_, token, error) => {
    const { headers, status } = await post(token(), modernBody(LIST), modernHeaders(LIST))
    expect([status, headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer realm="care", resource_metadata="${METADATA}"${error}, ${READ}`,
    ])
  })

  it('a token of this path opens nothing at /mcp', async () => {
    const token = fixture.token(USER, { audience: MODERN_AUDIENCE })
    const { body, status } = await fixture.request('POST', { token, body: modernBody(LIST) })
    expect([status, body.error_description]).toEqual([401, 'wrong_audience'])
  })

  it.each([
    [LIST, {}, 'care.read.user'],
    ['resources/read', { uri: 'care-internal://ann/plan' }, 'care.read.assistant'],
    ['resources/read', { uri: 'care-internal://ann/absent' }, 'care.read.assistant'],
    ['subscriptions/listen', { notifications: {} }, 'care.read.user'],
  ])('a token that reads nothing is 403 for %s %j, and the scope is named', async (...input) => {
    const [method, params, scope] = input
    const { headers, status } = await call('care.write', method, params)
    expect([status, headers.get('www-authenticate')]).toEqual([
      403,
      `Bearer realm="care", resource_metadata="${METADATA}", error="insufficient_scope", scope="${scope}"`,
    ])
    expect((await call('care.write', 'server/discover')).status).toBe(200)
  })

  it('a foreign Host is 403, before the token', async () => {
    const { port } = new URL(fixture.url)
    const headers = { host: 'evil.example' }
    const sent = EventReader.request({ port, method: 'POST', path: MODERN_MCP_PATH, headers })
    await expect(sent).rejects.toThrow('403')
  })
})

describe('400, 404, 405, 413 and 415', () => {
  const sent = (body: string, headers = modernHeaders(LIST)) =>
    post(issueToken(USER), body, headers)
  const codes = async (body: string, headers?: Record<string, string>) => {
    const answer = await sent(body, headers)
    return [answer.status, answer.body.error?.code, answer.body.id]
  }
  const rpc = (params?: object) =>
    JSON.stringify({ jsonrpc: '2.0', id: 'a', method: LIST, ...(params && { params }) })
  const { 'io.modelcontextprotocol/clientCapabilities': _left, ...onlyVersion } = ENVELOPE

  it.each([
    ['not JSON', '{', 400, -32700, null],
    ['nothing', '', 400, -32700, null],
    ['a batch', `[${modernBody(LIST)}]`, 400, -32600, null],
    ['an answer', '{"jsonrpc":"2.0","id":1,"result":{}}', 400, -32600, null],
    ['_meta missing', rpc(), 400, -32602, 'a'],
    ['a member of _meta missing', rpc({ _meta: onlyVersion }), 400, -32602, 'a'],
  ])('%s', async (_, body, ...expected) => {
    expect(await codes(body)).toEqual(expected)
  })

  it('neither modern header nor envelope is 400 -32022 and names the version served', async () => {
    const { 'mcp-protocol-version': _version, ...headers } = modernHeaders('initialize')
    const initialize = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {} },
    })
    const { body, status } = await sent(initialize, headers)
    expect([status, body.error]).toMatchObject([
      400,
      { code: -32022, data: { supported: ['2026-07-28'], requested: '2025-11-25' } },
    ])
    const old = await sent(rpc(), { ...headers, 'mcp-protocol-version': '2025-06-18' })
    expect(old.body.error?.data).toEqual({ supported: ['2026-07-28'], requested: '2025-06-18' })
    expect((await sent(rpc(), headers)).body.error?.data).toEqual({ supported: ['2026-07-28'] })
  })

  it('an unknown version is 400 -32022, in the header and in the envelope', async () => {
    const later = { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': '2027-01-01' }
    const data = { supported: ['2026-07-28'], requested: '2027-01-01' }
    const headers = { ...modernHeaders(LIST), 'mcp-protocol-version': '2027-01-01' }
    const inBody = await sent(rpc({ _meta: later }), headers)
    expect([inBody.status, inBody.body.error]).toMatchObject([400, { code: -32022, data }])
    const inHeader = await sent(rpc(), headers)
    expect([inHeader.status, inHeader.body.error]).toMatchObject([400, { code: -32022, data }])
  })

  it.each([
    ['no version', { 'mcp-protocol-version': undefined }],
    ['an older version', { 'mcp-protocol-version': '2025-11-25' }],
    ['a version that nobody knows', { 'mcp-protocol-version': '1999-01-01' }],
    ['no method', { 'mcp-method': undefined }],
    ['another method', { 'mcp-method': 'tools/list' }],
    ['a method in another case', { 'mcp-method': 'Resources/Read' }],
    ['no name', { 'mcp-name': undefined }],
    ['another name', { 'mcp-name': 'care://ann/plan' }],
    ['a name in base64 that is none', { 'mcp-name': '=?base64?Y2FyZT!?=' }],
    ['a name in base64 that is no UTF-8', { 'mcp-name': '=?base64?/w==?=' }],
    ['a name beyond ASCII', { 'mcp-name': 'care://ann/te\u00e4' }],
  ])('headers that do not match the body are 400 -32020: %s', async (_, change) => {
    const all = { ...modernHeaders('resources/read', TEA), ...change }
    const headers = Object.fromEntries(
      Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined),
    )
    expect(await codes(modernBody('resources/read', TEA), headers)).toEqual([400, -32020, 1])
  })

  it('a name may come as it is, with whitespace around it', async () => {
    const headers = { ...modernHeaders('resources/read', TEA), 'mcp-name': `\t${TEA.uri} ` }
    expect((await sent(modernBody('resources/read', TEA), headers)).status).toBe(200)
  })

  it.each([
    'initialize',
    'ping',
    'logging/setLevel',
    'resources/subscribe',
    'resources/unsubscribe',
    'toString',
  ])('%s with a full envelope is 404 -32601', async (method) => {
    const { body, status } = await call(USER, method)
    expect([status, body.error?.code, body.id]).toEqual([404, -32601, 1])
  })

  it('an unknown and an unreadable resource are the same 200 -32602', async () => {
    const answers = []
    for (const path of [
      'care-internal://ann/plan',
      'care-internal://ann/absent',
      'care://ann/no',
    ]) {
      const { body, status } = await call(USER, 'resources/read', { uri: path })
      expect(body.error?.data).toEqual({ uri: path })
      answers.push([status, body.error?.code, body.error?.message])
    }
    expect(new Set(answers.map(String))).toEqual(new Set(['200,-32602,Resource not found']))
  })

  it.each([
    ['resources/list', { cursor: 'x' }],
    ['prompts/get', { name: 'absent' }],
    ['tools/call', { name: 'absent' }],
    ['resources/read', {}],
    ['subscriptions/listen', {}],
  ])('bad parameters are 200 -32602: %s %j', async (method, params) => {
    const { body, status } = await call(USER, method, params)
    expect([status, body.error?.code]).toEqual([200, -32602])
  })

  it('a notification is accepted, without an answer', async () => {
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled' })
    expect(await sent(body)).toMatchObject({ status: 202, body: {} })
  })

  it('GET and DELETE are 405, another type is 415, a body over 256 KiB is 413', async () => {
    for (const method of ['GET', 'DELETE']) {
      const headers = { authorization: `Bearer ${issueToken(USER)}` }
      const answer = await fetch(`${fixture.url}/2026-07-28`, { method, headers })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'OPTIONS, POST'])
      expect(await answer.json()).toMatchObject({ error: { code: -32000 } })
    }
    const typed = { ...modernHeaders(LIST), 'content-type': 'text/plain' }
    expect(await codes(modernBody(LIST), typed)).toEqual([415, -32000, null])
    expect((await sent(modernBody(LIST, { cursor: 'x'.repeat(262_144) }))).status).toBe(413)
  })
})
