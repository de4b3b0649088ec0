// Serves what the conformance suite of 2026-07-28 requests by name, behind the edge and the route that serve records; for
// conformance.test.ts.
import {
  CompleteRequestParamsSchema,
  ReadResourceRequestParamsSchema,
  type Result,
} from '@modelcontextprotocol/sdk/types.js'
import { createServiceApp, listeningUrl, manualClock } from '@tallystick/service-kit'
import { parseParams, RPC_CODES, RpcFailure } from '@tallystick/service-kit/mcp'
import { openModern } from './edges/modern-route.ts'
import type { McpMethod } from './methods/dispatch.ts'
import { resourceNotFound } from './methods/resource-methods.ts'
import type { McpServices } from './records/visible-records.ts'
import { DEFAULT_MCP_LIMITS } from './sessions/limits.ts'
import { askedFirst, ROUNDS, type SuiteCall, suiteCall } from './suite-inputs.fixture.ts'
import { readSkillFile, SKILL_RESOURCES, SKILLS_EXTENSION } from './suite-skills.fixture.ts'
import { beginTask, TASK_TOOL_NAMES, TASKS_EXTENSION } from './suite-tasks.fixture.ts'

/** The suite ignores its content. */
const BYTES = Buffer.from('any').toString('base64')

const text = (said: string) => ({ type: 'text', text: said })
const image = { type: 'image', data: BYTES, mimeType: 'image/png' }
const resource = (uri: string, mimeType = 'text/plain') => ({
  type: 'resource',
  resource: { uri, mimeType, text: '{"test":"data","value":123}' },
})

const TOOLS: Readonly<Record<string, (call: SuiteCall) => Result>> = {
  test_simple_text: () => ({ content: [text('This is a simple text response for testing.')] }),
  test_image_content: () => ({ content: [image] }),
  test_audio_content: () => ({
    content: [{ type: 'audio', data: BYTES, mimeType: 'audio/wav' }],
  }),
  test_embedded_resource: () => ({ content: [resource('test://embedded-resource')] }),
  test_multiple_content_types: () => ({
    content: [text('Multiple:'), image, resource('test://mixed-content-resource')],
  }),
  test_error_handling: () => ({ content: [text('An error, intentionally')], isError: true }),
  // No log reaches a client: the service sends none in this revision.
  test_logging_tool: () => ({ content: [text('Logged.')] }),
  test_tool_with_progress: () => ({ content: [text('Done at once.')] }),
  greet: ({ arguments: input }) => ({ content: [text(`Hello, ${String(input?.['name'])}!`)] }),
  json_schema_2020_12_tool: () => ({ content: [text('Valid.')] }),
}

/** Input schemas that the suite checks. */
const INPUT_SCHEMAS: Readonly<Record<string, object>> = {
  json_schema_2020_12_tool: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: { address: { $anchor: 'addressDef', type: 'object', properties: {} } },
    properties: {
      address: { $ref: '#/$defs/address' },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    // Text, since a literal with a member `then` would look like a promise.
    ...JSON.parse('{"if":{"required":["phone"]},"then":{"required":["address"]},"else":{}}'),
    additionalProperties: false,
  },
}

const PROMPT_IN_ROUNDS = 'test_input_required_result_prompt'
/** Tools that ask first, and those that end as tasks; some do both. */
const TOOL_NAMES = new Set([
  ...Object.keys(TOOLS),
  ...Object.keys(ROUNDS).filter((name) => name !== PROMPT_IN_ROUNDS),
  ...TASK_TOOL_NAMES,
])

function callTool(call: SuiteCall): Result {
  const first = askedFirst(call) ?? beginTask(call)
  if (first !== undefined) return first
  if (Object.hasOwn(ROUNDS, call.name))
    return { content: [text(JSON.stringify(call.inputResponses))] }
  return named(TOOLS, call.name)(call)
}

const PROMPTS: Readonly<Record<string, (passed: Record<string, string>) => readonly object[]>> = {
  test_simple_prompt: () => [text('This is a simple prompt for testing.')],
  test_prompt_with_arguments: ({ arg1, arg2 }) => [text(`arg1='${arg1}', arg2='${arg2}'`)],
  test_prompt_with_embedded_resource: ({ resourceUri = '' }) => [
    resource(resourceUri),
    text('Please process the embedded resource above.'),
  ],
  test_prompt_with_image: () => [image, text('Please analyze the image above.')],
  [PROMPT_IN_ROUNDS]: () => [text('In that context.')],
}

function answerRead(uri: string): object {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
  if (id !== undefined) return { uri, mimeType: 'application/json', text: JSON.stringify({ id }) }
  if (uri === 'test://static-binary') return { uri, mimeType: 'image/png', blob: BYTES }
  if (uri === 'test://static-text') return { uri, mimeType: 'text/plain', text: 'Static.' }
  const file = readSkillFile(uri)
  if (file === undefined) throw resourceNotFound(uri)
  return file
}

const named = <Thing>(things: Readonly<Record<string, Thing>>, name: string): Thing => {
  const thing = Object.hasOwn(things, name) ? things[name] : undefined
  if (thing === undefined) throw new RpcFailure(RPC_CODES.invalidParams, 'params.name: unknown')
  return thing
}

const RECORDS: Readonly<Record<string, McpMethod>> = {
  'resources/list': async () => ({
    resources: [{ uri: 'test://static-text', name: 'text' }, ...SKILL_RESOURCES],
  }),
  'resources/templates/list': async () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template' }],
  }),
  'resources/read': async (_context, params) => ({
    contents: [answerRead(parseParams(ReadResourceRequestParamsSchema, params).uri)],
  }),
  'prompts/list': async () => ({
    prompts: Object.keys(PROMPTS).map((name) => ({ name, description: name })),
  }),
  'prompts/get': async (_context, params) => {
    const call = parseParams(suiteCall, params)
    const first = askedFirst(call)
    if (first !== undefined) return first
    const said = named(PROMPTS, call.name)((call.arguments ?? {}) as Record<string, string>)
    return { messages: said.map((content) => ({ role: 'user', content })) }
  },
  'tools/list': async () => ({
    tools: [...TOOL_NAMES].map((name) => ({
      name,
      description: name,
      inputSchema: INPUT_SCHEMAS[name] ?? { type: 'object', properties: {} },
    })),
  }),
  'tools/call': async (_context, params) => callTool(parseParams(suiteCall, params)),
  'completion/complete': async (_context, params) => {
    parseParams(CompleteRequestParamsSchema, params)
    return { completion: { values: ['paris'], total: 1, hasMore: false } }
  },
}

type SuiteServer = { readonly url: string; close(): Promise<void> }

/** Starts it on a free loopback port; any token will do. */
export async function startSuiteServer(): Promise<SuiteServer> {
  const clock = manualClock(Date.UTC(2026, 10, 21, 12))
  // The methods above use none of the record services.
  const services = {
    clock,
    limits: DEFAULT_MCP_LIMITS,
    unheard: { heard: () => undefined },
    serviceName: 'suite',
    version: '0',
    store: {
      head: async () => ({ latestVersion: 1 }),
      journals: { user: { size: 0 }, assistant: { size: 0 } },
    },
  } as unknown as McpServices
  const claims = { sub: 'suite', scopes: ['care.read.user'], expiresAtSeconds: 2_000_000_000 }
  const { addModernRoute, listens } = openModern(services, {
    records: RECORDS,
    extensions: {
      methods: { ...TASKS_EXTENSION.methods, ...SKILLS_EXTENSION.methods },
      capabilities: {
        extensions: { ...TASKS_EXTENSION.capabilities, ...SKILLS_EXTENSION.capabilities },
      },
    },
    bearer: {
      tokens: { verify: () => ({ kind: 'valid', claims }) },
      serviceName: 'suite',
      metadataUrl: 'http://127.0.0.1/',
    },
    isOwnHost: () => true,
    isOwnOrigin: () => true,
    isRevoked: () => false,
    onFailure: () => undefined,
    onEnd: () => undefined,
    follower: {
      join: () => undefined,
      leave: () => undefined,
      wake: () => undefined,
      looks: { again: async () => undefined },
    },
    rows: { add: async () => true, remove: () => undefined, countElsewhere: async () => 0 },
  })
  const app = await createServiceApp({
    name: 'suite',
    version: '0',
    description: 'test',
    clock,
    cors: false,
    routes: (scope) => addModernRoute(scope),
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    url: `${listeningUrl(app)}/mcp/2026-07-28`,
    async close() {
      listens.endAll('shutdown')
      await app.close()
    },
  }
}
