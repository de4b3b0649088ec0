/** G10: the protocol of `/mcp` in both revisions. What the tools sell is in paid-tools.test.ts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createHttpFixture, type HttpFixture } from '../testing/http.fixture.ts'
import { ENVELOPE, mcpCalls, modernHeaders } from './mcp.fixture.ts'

let fixture: HttpFixture
const { post, rpc } = mcpCalls(() => fixture)
const TOOLS = ['coverage', 'calibration', 'read_pick', 'grade_pick', 'audit_picks']

beforeAll(async () => {
  fixture = await createHttpFixture()
})
afterAll(() => fixture.app.close())

const modern = (method: string, params: object = {}, headers = modernHeaders(method)) =>
  rpc(method, { ...params, _meta: ENVELOPE }, headers)

const readCode = async (method: string, params?: object) =>
  (await rpc(method, params)).answer.error?.code
const statusFrom = async (origin: string) => (await rpc('ping', undefined, { origin })).status

describe('G10: 2025-11-25, without a session', () => {
  test('initialize answers 2025-11-25 whatever is asked for, and mints no session', async () => {
    for (const protocolVersion of ['2025-11-25', '2024-11-05', '2099-01-01']) {
      const { answer, headers, status } = await rpc('initialize', {
        protocolVersion,
        capabilities: {},
        clientInfo: { name: 'x', version: '1' },
      })
      expect([status, answer.result]).toMatchObject([
        200,
        { protocolVersion: '2025-11-25', capabilities: { tools: {} } },
      ])
      expect(headers['mcp-session-id']).toBeUndefined()
    }
    const ready = await post({ jsonrpc: '2.0', method: 'notifications/initialized' })
    expect([ready.status, ready.answer]).toEqual([202, undefined])
    expect((await rpc('ping')).answer.result).toEqual({})
  })

  test('the tools: three free ones, two with a price and without an outputSchema', async () => {
    const { answer } = await rpc('tools/list')
    const tools = answer.result?.['tools'] as Record<string, unknown>[]
    expect(tools.map(({ name }) => name)).toEqual(TOOLS)
    expect(tools.map(({ outputSchema }) => outputSchema)).toEqual(TOOLS.map(() => undefined))
    expect(tools.map(({ inputSchema }) => (inputSchema as { type: string }).type)).toEqual(
      TOOLS.map(() => 'object'),
    )
    expect(tools.map(({ _meta }) => _meta)).toEqual([
      undefined,
      undefined,
      undefined,
      { 'agents-x402/paymentRequired': true, 'agents-x402/priceUSD': 0.01 },
      { 'agents-x402/paymentRequired': true, 'agents-x402/priceUSD': 0.2 },
    ])
  })

  test('what is not served is said by its code', async () => {
    expect(await readCode('resources/list')).toBe(-32_601)
    expect(await readCode('server/discover')).toBe(-32_601)
    expect(await readCode('tools/call', { name: 'absent' })).toBe(-32_602)
    expect(await readCode('tools/call', { name: 'toString' })).toBe(-32_602)
    expect(await readCode('tools/call', { name: 'coverage', arguments: [] })).toBe(-32_602)
  })

  test('wrong parameters are -32602 with their path, not their value', async () => {
    for (const [params, path] of [
      [undefined, 'params'],
      [{}, 'params.name'],
      [{ name: 'coverage', arguments: ['secret'] }, 'params.arguments'],
    ] as const) {
      const { answer, status } = await rpc('tools/call', params)
      expect([status, answer.error?.code]).toEqual([200, -32_602])
      expect(answer.error?.message).toMatch(new RegExp(`^${path}: (?!.*secret)`))
    }
  })

  test('a call that asks to become a task is answered as any other: tasks are not offered', async () => {
    for (const task of [{}, { ttl: 60_000 }, 5]) {
      const { answer } = await rpc('tools/call', { name: 'calibration', task })
      expect(answer.result?.isError).toBeUndefined()
      expect(answer.result?.structuredContent).toHaveProperty('columns')
    }
  })

  test('every client is answered as JSON, whatever it accepts', async () => {
    for (const accept of ['application/json, text/event-stream', 'application/json', '*/*', '']) {
      const { answer, headers } = await rpc('ping', undefined, { accept })
      expect([answer.result, headers['content-type']]).toEqual([
        {},
        'application/json; charset=utf-8',
      ])
    }
  })

  test.for([
    ['{', -32_700],
    ['[]', -32_600],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}', -32_600],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', -32_600],
    ['{"jsonrpc":"2.0","id":1,"result":{}}', -32_600],
    ['\ufffd', -32_700],
  ] as const)('no request: %s', async ([text, code]) => {
    const { answer, status } = await post(text)
    expect([status, answer.error?.code, answer.id]).toEqual([400, code, null])
  })

  test('a page of another site is refused; this host and this machine are not', async () => {
    expect(await statusFrom('https://evil.example')).toBe(403)
    expect(await statusFrom('null')).toBe(403)
    expect(await statusFrom('https://grading.example')).toBe(200)
    expect(await statusFrom('http://localhost:6274')).toBe(200)
  })

  test('GET and DELETE are 405: there is nothing to stream and no session to end', async () => {
    for (const method of ['GET', 'DELETE'] as const) {
      const answer = await fixture.app.inject({ method, url: '/mcp' })
      expect([answer.statusCode, answer.headers.allow]).toEqual([
        405,
        expect.stringContaining('POST'),
      ])
    }
  })
})

describe('G10: 2026-07-28', () => {
  test('server/discover and tools/list are complete results that name the server and how long they hold', async () => {
    const discovered = (await modern('server/discover')).answer.result
    expect(discovered).toMatchObject({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      cacheScope: 'public',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'tallystick-grading' } },
    })
    expect((await modern('tools/list')).answer.result).toMatchObject({
      resultType: 'complete',
      ttlMs: 300_000,
      cacheScope: 'public',
    })
  })

  test('a tool’s result is complete, and keeps its own _meta', async () => {
    const headers = modernHeaders('tools/call', 'grade_pick')
    const { answer } = await modern('tools/call', { name: 'grade_pick' }, headers)
    expect(answer.result).toMatchObject({
      resultType: 'complete',
      isError: true,
      _meta: {
        'io.modelcontextprotocol/serverInfo': { name: 'tallystick-grading' },
        'x402/error': { x402Version: 2 },
      },
    })
  })

  test.for(['initialize', 'ping', 'resources/list', 'logging/setLevel'])(
    '%s is 404 -32601',
    async (method) => {
      const { answer, status } = await modern(method)
      expect([status, answer.error?.code, answer.id]).toEqual([404, -32_601, 1])
    },
  )

  test('an envelope that lacks a member is 400 -32602, an unknown revision 400 -32022', async () => {
    const headers = modernHeaders('tools/list')
    const { 'io.modelcontextprotocol/clientCapabilities': _left, ...version } = ENVELOPE
    const bare = await rpc('tools/list', { _meta: version }, headers)
    expect([bare.status, bare.answer.error?.code]).toEqual([400, -32_602])
    const absent = await rpc('tools/list', {}, headers)
    expect([absent.status, absent.answer.error?.code]).toEqual([400, -32_602])
    const later = { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': '2027-01-01' }
    const newer = { ...headers, 'mcp-protocol-version': '2027-01-01' }
    const unknown = await rpc('tools/list', { _meta: later }, newer)
    expect([unknown.status, unknown.answer.error]).toMatchObject([
      400,
      { code: -32_022, data: { supported: ['2026-07-28'], requested: '2027-01-01' } },
    ])
    const named = await rpc('tools/list', {}, { 'mcp-protocol-version': '2027-01-01' })
    expect([named.status, named.answer.error?.code]).toEqual([400, -32_022])
  })

  test.for([
    ['no version', { 'mcp-method': 'tools/call', 'mcp-name': 'coverage' }],
    [
      'an older version',
      { ...modernHeaders('tools/call', 'coverage'), 'mcp-protocol-version': '2025-11-25' },
    ],
    ['no method', { 'mcp-protocol-version': '2026-07-28', 'mcp-name': 'coverage' }],
    ['another method', modernHeaders('tools/list', 'coverage')],
    ['no name', modernHeaders('tools/call')],
    ['another name', modernHeaders('tools/call', 'grade_pick')],
  ] as const)('headers that do not match the body are 400 -32020: %s', async ([, headers]) => {
    const { answer, status } = await modern('tools/call', { name: 'coverage' }, headers)
    expect([status, answer.error?.code]).toEqual([400, -32_020])
  })

  test('a name may come as base64', async () => {
    const headers = modernHeaders('tools/call', `=?base64?${btoa('calibration')}?=`)
    expect((await modern('tools/call', { name: 'calibration' }, headers)).status).toBe(200)
  })
})
