/**
 * G10: the official conformance suite against `/mcp`. It knows revisions up to 2025-11-25; the official clients judge
 * 2026-07-28 (official-clients.test.ts). None of the suite's own tools, prompts and resources are served here: the
 * scenarios that need one are listed with what they need, and may do nothing but fail.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createHttpFixture, type HttpFixture } from '../testing/http.fixture.ts'
import { mcpCalls } from './mcp.fixture.ts'

/** Scenarios that apply to a server that has nothing but tools: every check of theirs must hold. */
const APPLICABLE = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']

/** Warns, as it asks for a session: there are none, and no answer is a stream. */
const STATELESS = 'server-sse-multiple-streams'

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

/** Each calls a tool of the suite's own, `test_…`. */
const OF_ITS_OWN_TOOLS = [
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-with-logging',
  'tools-call-error',
  'tools-call-with-progress',
  'tools-call-sampling',
  'tools-call-elicitation',
  'elicitation-sep1034-defaults',
  'elicitation-sep1330-enums',
]

const EXPECTED_FAILURES = [STATELESS, ...Object.values(NOT_OFFERED).flat(), ...OF_ITS_OWN_TOOLS]

const command = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')),
  'dist/index.js',
)

let fixture: HttpFixture
const { rpc } = mcpCalls(() => fixture)
let folder: string
let summary: string
beforeAll(async () => {
  fixture = await createHttpFixture()
  folder = mkdtempSync(join(tmpdir(), 'grading-conformance-'))
  const baseline = join(folder, 'expected-failures.yml')
  writeFileSync(baseline, `server:\n${EXPECTED_FAILURES.map((name) => `  - ${name}\n`).join('')}`)
  const address = await fixture.app.listen({ host: '127.0.0.1', port: 0 })
  const given = ['server', '--url', `${address}/mcp`, '-o', folder]
  summary = await new Promise((resolve) => {
    execFile(
      process.execPath,
      [command, ...given, '--expected-failures', baseline],
      { cwd: folder },
      (error, stdout, stderr) => resolve(`${stdout}${stderr}\nexit code ${error?.code ?? 0}`),
    )
  })
})
afterAll(async () => {
  await fixture.app.close()
  rmSync(folder, { recursive: true })
})

type Check = { readonly status: string }

/** The checks of a scenario’s one run. */
function checksOf(scenario: string): readonly Check[] {
  const runs = readdirSync(folder).filter((name) => name.startsWith(`server-${scenario}-2`))
  expect(runs).toHaveLength(1)
  return JSON.parse(readFileSync(join(folder, runs[0] ?? '', 'checks.json'), 'utf8')) as Check[]
}

describe('G10: the MCP conformance suite', () => {
  test('its active scenarios pass, those aside that need what is not offered', () => {
    expect(summary).toMatch(/exit code 0$/)
    const ran = [...summary.matchAll(/^[✓✗] ([\w-]+):/gm)].map(([, name = '']) => name)
    expect(new Set(ran)).toEqual(new Set([...APPLICABLE, ...EXPECTED_FAILURES]))
  })

  test.each(APPLICABLE)('scenario %s passes every check', (scenario) => {
    const statuses = checksOf(scenario).map(({ status }) => status)
    expect(statuses).toContain('SUCCESS')
    expect(statuses.filter((status) => status !== 'SUCCESS' && status !== 'INFO')).toEqual([])
  })

  test('the scenario of sessions only warns: there is none to stream to', () => {
    expect(checksOf(STATELESS).map(({ status }) => status)).toEqual(['WARNING'])
  })

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
})
