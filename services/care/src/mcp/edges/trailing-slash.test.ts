// C41: `/mcp/` is `/mcp`, for whatever a host sends there.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CareFixture, startCareFixture } from '../../testing/care.fixture.ts'
import { BOTH, initializeBody, type McpFixture, startMcp } from '../mcp.fixture.ts'

let care: CareFixture
let mcp: McpFixture
beforeAll(async () => {
  care = await startCareFixture()
  mcp = await startMcp()
})
afterAll(async () => {
  await care.close()
  await mcp.close()
})

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

describe.each(['/mcp', '/mcp/2026-07-28'])('C41: %s/', (path) => {
  const answerTo = async (url: string, method: (typeof METHODS)[number], token?: string) => {
    const { body, headers, statusCode } = await care.app.inject({
      method,
      url,
      headers: { host: 'care.test', ...(token && { authorization: `Bearer ${token}` }) },
      ...(method === 'POST' && { payload: '{' }),
    })
    const { allow, 'content-type': type, 'www-authenticate': challenge } = headers
    return { allow, body, challenge, statusCode, type }
  }

  it.each(METHODS)('answers %s as without the slash, with and without a token', async (method) => {
    for (const token of [
      undefined,
      'x',
      care.token(BOTH, { audience: `https://care.test${path}` }),
    ])
      expect(await answerTo(`${path}/`, method, token)).toEqual(await answerTo(path, method, token))
  })

  it('a 401 names the metadata of the resource, which has no slash and is there with one, too', async () => {
    const { challenge } = await answerTo(`${path}/`, 'POST')
    const metadata = `/.well-known/oauth-protected-resource${path}`
    expect(challenge).toContain(`resource_metadata="https://care.test${metadata}"`)
    for (const url of [metadata, `${metadata}/`]) {
      const answer = await care.get(url)
      expect([answer.statusCode, answer.json().resource]).toEqual([200, `https://care.test${path}`])
      expect((await care.app.inject({ method: 'POST', url })).statusCode).toBe(405)
    }
  })
})

it('C41: a session lives under both spellings: opened, streamed and ended', async () => {
  const session: Record<string, string> = {}
  const at = async (url: string, method: string, body?: object) =>
    fetch(url, {
      method,
      headers: { authorization: `Bearer ${mcp.token(BOTH)}`, ...session },
      ...(body && { body: JSON.stringify(body) }),
    })
  const opened = await at(`${mcp.url}/`, 'POST', initializeBody())
  session['mcp-session-id'] = opened.headers.get('mcp-session-id') ?? ''
  expect(opened.status).toBe(200)
  const list = { jsonrpc: '2.0', id: 1, method: 'resources/list' }
  for (const url of [mcp.url, `${mcp.url}/`]) expect((await at(url, 'POST', list)).status).toBe(200)
  const stream = await at(`${mcp.url}/`, 'GET')
  expect(stream.headers.get('content-type')).toContain('text/event-stream')
  await stream.body?.cancel()
  expect((await at(`${mcp.url}/`, 'DELETE')).status).toBe(200)
  expect((await at(mcp.url, 'POST', list)).status).toBe(404)
})
