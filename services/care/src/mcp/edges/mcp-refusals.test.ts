// What /mcp refuses, row by row from care.md's Errors, and that it answers whatever arrives.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BOTH, USER } from '../mcp.fixture.ts'
import { PING, rpcError, useMcpRoute } from './mcp-route.fixture.ts'

const suite = useMcpRoute()
const { inSession } = suite

describe('Errors', () => {
  it('400 | /mcp | JSON-RPC error -32700 | body is not JSON', async () => {
    for (const body of ['{', '', 'null,', Uint8Array.of(0x22, 0xff, 0x22)]) {
      const answer = await suite.fixture.request('POST', {
        token: suite.session.token,
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
      const answer = await suite.fixture.request(method, {
        token: suite.session.token,
        ...(body === undefined ? {} : { body }),
      })
      expect(answer.status).toBe(400)
      expect(answer.body).toEqual(rpcError(-32000))
    }
  })

  it('404 | /mcp | JSON-RPC error -32001 | session id unknown', async () => {
    for (const method of ['POST', 'GET', 'DELETE']) {
      const answer = await suite.fixture.request(method, {
        token: suite.session.token,
        headers: inSession('unknown'),
        ...(method === 'POST' ? { body: PING } : {}),
      })
      expect(answer.status).toBe(404)
      expect(answer.body).toEqual(rpcError(-32001))
    }
  })

  it('403 | /mcp | JSON-RPC error -32003 | session belongs to another sub', async () => {
    const answer = await suite.fixture.request('POST', {
      token: suite.fixture.token(BOTH, { sub: 'other' }),
      headers: inSession(),
      body: PING,
    })
    expect(answer.status).toBe(403)
    expect(answer.body).toEqual(rpcError(-32003))
  })

  it('405 | /mcp | JSON-RPC error -32000 | method other than POST, GET, DELETE', async () => {
    for (const method of ['PUT', 'PATCH', 'QUERY', 'PROPFIND']) {
      const answer = await suite.fixture.request(method, {
        token: suite.session.token,
        headers: inSession(),
      })
      expect(answer.status).toBe(405)
      expect(answer.body).toEqual(rpcError(-32000))
      expect(answer.headers.get('allow')).toBe('DELETE, GET, OPTIONS, POST')
    }
    const head = await suite.fixture.request('HEAD', { token: suite.session.token })
    expect(head.status).toBe(405)
  })

  it('413 | /mcp | error = payload_too_large | body over the limit', async () => {
    const answer = await suite.fixture.request('POST', {
      token: suite.session.token,
      headers: inSession(),
      body: `"${'a'.repeat(262_144)}"`,
    })
    expect(answer.status).toBe(413)
    expect(answer.body).toEqual({ error: 'payload_too_large' })
  })

  it('Maximum request body | 262144 bytes (256 KiB): one of exactly that size is read', async () => {
    const frame = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params: { pad: '' } })
    const body = frame.replace('""', `"${'a'.repeat(262_144 - frame.length)}"`)
    expect(body).toHaveLength(262_144)
    const answer = await suite.fixture.request('POST', {
      token: suite.session.token,
      headers: inSession(),
      body,
    })
    expect(answer.status).toBe(200)
  })

  it('MCP read of an unreadable or nonexistent record: code -32002, identical for both', async () => {
    await suite.fixture.write({ domain: 'hidden', audience: 'assistant' })
    const user = await suite.fixture.open(USER)
    const hidden = await user.call('resources/read', { uri: 'care-internal://ann/hidden' })
    const absent = await user.call('resources/read', { uri: 'care-internal://ann/absent' })
    expect(hidden.error).toEqual({
      code: -32002,
      message: 'Resource not found',
      data: { uri: 'care-internal://ann/hidden' },
    })
    expect({ ...hidden.error, data: undefined }).toEqual({ ...absent.error, data: undefined })
  })

  it('JSON that is not a JSON-RPC message is -32600, including a batch', async () => {
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
      const answer = await suite.fixture.request('POST', {
        token: suite.session.token,
        headers: inSession(),
        body,
      })
      expect([body, answer.status]).toEqual([body, 400])
      expect(answer.body).toEqual(rpcError(-32600))
    }
  })
})

describe('C1: parameters that the SDK refuses', () => {
  const reference = { type: 'ref/prompt', name: 'brief_carer' }
  it.each([
    ['resources/list', { cursor: { secret: 1 } }, 'params.cursor'],
    ['resources/templates/list', { cursor: 1 }, 'params.cursor'],
    ['resources/read', undefined, 'params'],
    ['resources/read', { uri: { secret: 1 } }, 'params.uri'],
    ['resources/subscribe', {}, 'params.uri'],
    ['resources/unsubscribe', { uri: null }, 'params.uri'],
    ['completion/complete', { ref: 'secret' }, 'params.ref'],
    ['completion/complete', { ref: reference, argument: { name: 'x' } }, 'params.argument.value'],
    ['prompts/list', { cursor: [] }, 'params.cursor'],
    ['prompts/get', { name: 'brief_carer', arguments: { secret: 1 } }, 'params.arguments.secret'],
    ['tools/list', { cursor: 1 }, 'params.cursor'],
    ['tools/call', { name: 'search', arguments: ['secret'] }, 'params.arguments'],
    ['logging/setLevel', { level: 'secretly' }, 'params.level'],
  ])('%s %j is -32602 and names %s, not its value', async (method, params, path) => {
    const { error } = await suite.session.call(method, params)
    expect(error?.code).toBe(-32602)
    expect(error?.message.split(': ')[0]).toBe(path)
    expect(error?.message.split(': ')[1]).not.toMatch(/secret/)
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
        const { token } = suite.session
        const answer = await suite.fixture.request('POST', { token, headers: inSession(), body })
        expect([200, 202, 400]).toContain(answer.status)
        expect(answer.body.error?.code).not.toBe(-32603)
      }),
      { numRuns: 500 },
    )
    expect(suite.fixture.events.filter(({ kind }) => kind === 'request-failed')).toEqual([])
  })
})
