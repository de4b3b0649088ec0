// C1, C21: the official conformance suites against the complete service in its production configuration, in both revisions. The
// suites' own tools, prompts and resources are not served there, so the scenarios of 2025-11-25 that need one cannot pass; those
// of 2026-07-28 run against such things behind the same edge and route.
import { createRequire } from 'node:module'
import {
  listScenarios,
  OF_ITS_OWN_TOOLS,
  testConformance,
} from '@tallystick/service-kit/mcp-conformance'
import { expect, it } from 'vitest'
import { MODERN_RESOURCE } from '../testing/care.fixture.ts'
import { startRunningCare } from '../testing/running-care.fixture.ts'
import { startSuiteServer } from './suite-server.fixture.ts'

/** Scenarios that need a resource, prompt or tool of the suite's own, with the reason why each cannot pass here. */
const UNMET: Readonly<Record<string, readonly [string]>> = {
  'completion-complete': ['completes an argument of the prompt test_prompt_with_arguments'],
  'resources-subscribe': ['subscribes to test://watched-resource, which is -32002 here'],
  'resources-unsubscribe': ['subscribes to test://watched-resource first'],
  'resources-read-text': ['reads test://static-text'],
  'resources-read-binary': ['reads test://static-binary'],
  'resources-templates-read': ['reads test://template/{id}/data'],
  'prompts-get-simple': ['gets the prompt test_simple_prompt'],
  'prompts-get-with-args': ['gets the prompt test_prompt_with_arguments'],
  'prompts-get-embedded-resource': ['gets the prompt test_prompt_with_embedded_resource'],
  'prompts-get-with-image': ['gets the prompt test_prompt_with_image'],
}

/** Scenarios that apply to a server of records; all of them must pass. */
const APPLICABLE = [
  'server-initialize',
  'logging-set-level',
  'ping',
  'tools-list',
  'server-sse-multiple-streams',
  'resources-list',
  'prompts-list',
  'dns-rebinding-protection',
]

/** Scenarios that the service passes as it is. */
const MODERN_APPLICABLE = [
  'tools-list',
  'server-sse-multiple-streams',
  'resources-list',
  'sep-2164-resource-not-found',
  'prompts-list',
  'dns-rebinding-protection',
  'caching',
  'http-header-validation',
  'input-required-result-unsupported-methods',
]

/** Scenarios that ask for a tool, prompt, resource or extension of the suite's own. */
const OVER_FIXTURES = [
  'server-stateless',
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
  'input-required-result-basic-elicitation',
  'input-required-result-basic-sampling',
  'input-required-result-basic-list-roots',
  'input-required-result-request-state',
  'input-required-result-multiple-input-requests',
  'input-required-result-multi-round',
  'input-required-result-missing-input-response',
  'input-required-result-non-tool-request',
  'input-required-result-result-type',
  'input-required-result-tampered-state',
  'input-required-result-capability-check',
  'input-required-result-ignore-extra-params',
  'input-required-result-validate-input',
  'json-schema-2020-12',
  'tasks-lifecycle',
  'tasks-capability-negotiation',
  'tasks-wire-fields',
  'tasks-request-state-removal',
  'tasks-mrtr-input',
  'tasks-dispatch-and-envelope',
  'tasks-required-task-error',
  'tasks-mrtr-composition',
]

/** Scenarios of what the edge does not do, each with the reason and the checks that fail or are skipped for it. */
const NOT_SERVED: Readonly<Record<string, readonly [reason: string, ...checks: string[]]>> = {
  'tools-call-with-progress': [
    'a call is answered with one JSON message: no tool takes long enough to tell of its progress, which a server may leave out',
    'tools-call-with-progress',
  ],
  'http-custom-header-server-validation': [
    'no tool mirrors an argument in an Mcp-Param header, and the suite says itself that it can test nothing then',
    'sep-2243-server-no-xmcp-tool',
    'sep-2243-server-decode-base64',
    'sep-2243-server-validate-param-match',
    'sep-2243-server-reject-invalid-param-chars',
    'sep-2243-server-reject-param-mismatch',
  ],
  'tasks-request-headers': [
    'Mcp-Name is compared for the methods of the revision, and the extension that names tasks in it is not served',
    'sep-2663-server-rejects-mismatched-mcp-name-on-tasks-get',
  ],
  'tasks-status-notifications': ['the suite skips it itself', 'tasks-status-notifications'],
}

/** Over fixtures too, but not among those that the revision requires: they came after it. */
const LATER = [
  'sep-2640-skills-directory',
  'sep-2640-skills-enumeration',
  'sep-2640-skills-manifest',
]

const MODERN_MANIFEST = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/conformance-2026/package.json',
)

/** Care with a record, for a suite that sends tokens for a path. */
const startCare = (path: string, audience?: string) => async () => {
  const care = await startRunningCare()
  await care.write({ patient: 'ann', domain: 'tea', value: 'No sugar.', authorId: 'dr-osei' })
  const scope = 'care.read.user care.read.assistant'
  return {
    url: `${care.url}${path}`,
    token: () => care.token(scope, audience === undefined ? {} : { audience }),
    close: () => care.remove(),
  }
}

testConformance({
  title: 'C1: care, the MCP conformance suite',
  manifest: createRequire(import.meta.url).resolve(
    '@modelcontextprotocol/conformance/package.json',
  ),
  start: startCare('/mcp'),
  passing: APPLICABLE,
  unmet: { ...UNMET, ...OF_ITS_OWN_TOOLS },
})

testConformance({
  title: 'C21: care, the MCP conformance suite of 2026-07-28',
  manifest: MODERN_MANIFEST,
  start: startCare('/mcp/2026-07-28', MODERN_RESOURCE),
  runs: [['--requirements', '2026-07-28']],
  passing: MODERN_APPLICABLE,
  unmet: {},
  hasOthers: true,
})

testConformance({
  title: 'C21: care’s edge, the MCP conformance suite of 2026-07-28 over its own things',
  manifest: MODERN_MANIFEST,
  start: async () => ({ ...(await startSuiteServer()), token: () => 'any' }),
  runs: [['--requirements', '2026-07-28'], ...LATER.map((scenario) => ['--scenario', scenario])],
  passing: [...OVER_FIXTURES, ...LATER],
  unmet: NOT_SERVED,
  hasOthers: true,
  // Prompts and tools change with a new version of the service alone.
  skipped: ['prompts', 'tools'].map(
    (kind) => `sep-2575-server-sends-${kind}-list-changed-on-subscription`,
  ),
  // The suite gives up some answers of this one after half a second, which a busy machine may need for other things.
  slow: 'server-stateless',
})

it('C21: every scenario for servers of 2026-07-28 is judged', async () => {
  const listed = (await listScenarios(MODERN_MANIFEST)).filter(({ revisions }) =>
    ['2026-07-28', 'extension'].some((revision) => revisions.includes(revision)),
  )
  const known = [...MODERN_APPLICABLE, ...OVER_FIXTURES, ...LATER, ...Object.keys(NOT_SERVED)]
  expect(known.toSorted()).toEqual(listed.map(({ name }) => name).toSorted())
})
