// The official conformance suite of 2026-07-28: against the complete service for what applies to a server of records, and, for
// what needs things of the suite's own, against those things behind the same edge and route.
import { createRequire } from 'node:module'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MODERN_RESOURCE } from '../testing/care.fixture.ts'
import { type RunningCare, startRunningCare } from '../testing/running-care.fixture.ts'
import { type ConformanceRun, openConformance } from './conformance.fixture.ts'
import { type SuiteServer, startSuiteServer } from './suite-server.fixture.ts'

/** Scenarios that the service passes as it is. */
const APPLICABLE = [
  'tools-list',
  'server-sse-multiple-streams',
  'resources-list',
  'sep-2164-resource-not-found',
  'prompts-list',
  'dns-rebinding-protection',
  'caching',
  'http-header-validation',
  'input-required-result-unsupported-methods',
  'input-required-result-validate-input',
]

/** Scenarios that ask for a tool, prompt or resource of the suite's own. */
const OVER_FIXTURES = [
  'completion-complete',
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-error',
  'resources-read-text',
  'resources-read-binary',
  'resources-templates-read',
  'prompts-get-simple',
  'prompts-get-with-args',
  'prompts-get-embedded-resource',
  'prompts-get-with-image',
]

/** Checks of `server-stateless` that cannot apply: the service asks its clients nothing, and has nothing to log to them. */
const NOT_TESTABLE = [
  'sep-2575-http-server-no-independent-requests-on-stream',
  'sep-2575-server-no-log-without-loglevel',
]

let care: RunningCare
let own: ConformanceRun
let server: SuiteServer
let fixtures: ConformanceRun
beforeAll(async () => {
  care = await startRunningCare()
  await care.write({ patient: 'ann', domain: 'tea', value: 'No sugar.', authorId: 'dr-osei' })
  const manifest = createRequire(import.meta.url).resolve(
    '@modelcontextprotocol/conformance-2026/package.json',
  )
  const scope = 'care.read.user care.read.assistant'
  const token = () => care.token(scope, { audience: MODERN_RESOURCE })
  own = await openConformance({ manifest, token, url: `${care.url}/mcp/2026-07-28` })
  server = await startSuiteServer()
  fixtures = await openConformance({ manifest, token: () => 'any', url: server.url })
}, 30_000)
afterAll(async () => {
  own.close()
  fixtures.close()
  await server.close()
  await care.remove()
})

const failuresOf = (run: ConformanceRun, scenario: string): readonly string[] => {
  const checks = run.checksOf(scenario)
  expect(checks.some(({ status }) => status === 'SUCCESS')).toBe(true)
  return checks
    .filter(({ status }) => !['SUCCESS', 'INFO', 'SKIPPED'].includes(status))
    .map(({ errorMessage = '', id }) => `${id}: ${errorMessage}`)
}

describe('C21: the MCP conformance suite of 2026-07-28', () => {
  it('runs the scenarios that the revision requires', async () => {
    const { text } = await own.run('--requirements', '2026-07-28')
    expect(text).toContain('=== SUMMARY ===')
  }, 60_000)

  it.each(APPLICABLE)('scenario %s passes every check', (scenario) => {
    expect(failuresOf(own, scenario)).toEqual([])
  })

  it('runs them over the suite’s own things behind the same edge', async () => {
    const { text } = await fixtures.run('--requirements', '2026-07-28')
    expect(text).toContain('=== SUMMARY ===')
  }, 60_000)

  it.each(OVER_FIXTURES)('scenario %s passes every check over fixtures', (scenario) => {
    expect(failuresOf(fixtures, scenario)).toEqual([])
  })

  it('scenario server-stateless passes every check but those for servers that ask or log', () => {
    const failed = failuresOf(fixtures, 'server-stateless')
    expect(failed.map((failure) => failure.split(':')[0])).toEqual(NOT_TESTABLE)
    for (const failure of failed) expect(failure).toContain('Not testable')
  })
})
