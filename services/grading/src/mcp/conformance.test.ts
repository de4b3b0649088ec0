/**
 * G10: the official conformance suite against `/mcp`. It knows revisions up to 2025-11-25; the official clients judge
 * 2026-07-28 (official-clients.test.ts). None of the suite's own tools, prompts and resources are served here.
 */
import { createRequire } from 'node:module'
import { listeningUrl } from '@tallystick/service-kit'
import { OF_ITS_OWN_TOOLS, testConformance } from '@tallystick/service-kit/mcp-conformance'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHttpFixture, type HttpFixture } from '../testing/http.fixture.ts'
import { mcpCalls } from './mcp.fixture.ts'

/** Scenarios that apply to a server that has nothing but tools: every check of theirs must hold. */
const APPLICABLE = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']

/** What the server does not offer, and says so when it is initialized. */
const NOT_OFFERED: Readonly<Record<string, readonly string[]>> = {
  logging: ['logging-set-level'],
  completions: ['completion-complete'],
  resources: ['list', 'read-text', 'read-binary', 'templates-read', 'subscribe', 'unsubscribe'].map(
    (name) => `resources-${name}`,
  ),
  prompts: ['list', 'get-simple', 'get-with-args', 'get-embedded-resource', 'get-with-image'].map(
    (name) => `prompts-${name}`,
  ),
}

testConformance({
  title: 'G10: grading, the MCP conformance suite',
  manifest: createRequire(import.meta.url).resolve(
    '@modelcontextprotocol/conformance/package.json',
  ),
  async start() {
    const { app } = await createHttpFixture()
    await app.listen({ host: '127.0.0.1', port: 0 })
    return { url: `${listeningUrl(app)}/mcp`, close: () => app.close() }
  },
  passing: APPLICABLE,
  unmet: {
    'server-sse-multiple-streams': [
      'asks for a session, and for answers that are streams',
      'server-sse-multiple-streams-session',
    ],
    ...Object.fromEntries(
      Object.entries(NOT_OFFERED).flatMap(([capability, names]) =>
        names.map((name) => [name, [`asks for ${capability}, which are not announced`]]),
      ),
    ),
    ...OF_ITS_OWN_TOOLS,
  },
})

let fixture: HttpFixture
const { rpc } = mcpCalls(() => fixture)
beforeAll(async () => {
  fixture = await createHttpFixture()
})
afterAll(() => fixture.app.close())

test('what is not offered is not announced, and calling it is an unknown method', async () => {
  const clientInfo = { name: 'suite', version: '1' }
  const { answer } = await rpc('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo,
  })
  expect(answer.result?.['capabilities']).toEqual({ tools: {} })
  for (const method of ['logging/setLevel', 'resources/list', 'prompts/list'])
    expect((await rpc(method)).answer.error?.code).toBe(-32_601)
})
