// A server of what the conformance suite of 2026-07-28 asks for by name, behind the edge and the route that serve records; for
// modern-conformance.test.ts.
import type { Result } from '@modelcontextprotocol/sdk/types.js'
import { createServiceApp, listeningUrl, manualClock } from '@tallystick/service-kit'
import { parseParams, RPC_CODES, RpcFailure } from '@tallystick/service-kit/mcp'
import { completeParams, promptParams, toolParams, uriParams } from '../wire/mcp.ts'
import type { McpMethod } from './dispatch.ts'
import { DEFAULT_MCP_LIMITS } from './limits.ts'
import { openModern } from './modern-route.ts'
import { resourceNotFound } from './resource-methods.ts'
import type { McpServices } from './visible-records.ts'

/** Not looked into by the suite. */
const BYTES = Buffer.from('any').toString('base64')

const text = (said: string) => ({ type: 'text', text: said })
const image = { type: 'image', data: BYTES, mimeType: 'image/png' }
const resource = (uri: string, mimeType = 'text/plain') => ({
  type: 'resource',
  resource: { uri, mimeType, text: '{"test":"data","value":123}' },
})

const TOOLS: Readonly<Record<string, () => Result>> = {
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
  test_missing_capability: () => {
    throw new RpcFailure(RPC_CODES.missingCapability, 'The client cannot sample', {
      requiredCapabilities: { sampling: {} },
    })
  },
}

const PROMPTS: Readonly<Record<string, (given: Record<string, string>) => readonly object[]>> = {
  test_simple_prompt: () => [text('This is a simple prompt for testing.')],
  test_prompt_with_arguments: ({ arg1, arg2 }) => [text(`arg1='${arg1}', arg2='${arg2}'`)],
  test_prompt_with_embedded_resource: ({ resourceUri = '' }) => [
    resource(resourceUri),
    text('Please process the embedded resource above.'),
  ],
  test_prompt_with_image: () => [image, text('Please analyze the image above.')],
}

function readOf(uri: string): object {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
  if (id !== undefined) return { uri, mimeType: 'application/json', text: JSON.stringify({ id }) }
  if (uri === 'test://static-binary') return { uri, mimeType: 'image/png', blob: BYTES }
  if (uri === 'test://static-text') return { uri, mimeType: 'text/plain', text: 'Static.' }
  throw resourceNotFound(uri)
}

const named = <Thing>(things: Readonly<Record<string, Thing>>, name: string): Thing => {
  const thing = Object.hasOwn(things, name) ? things[name] : undefined
  if (thing === undefined) throw new RpcFailure(RPC_CODES.invalidParams, 'params.name: unknown')
  return thing
}

const RECORDS: Readonly<Record<string, McpMethod>> = {
  'resources/list': async () => ({ resources: [{ uri: 'test://static-text', name: 'text' }] }),
  'resources/templates/list': async () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template' }],
  }),
  'resources/read': async (_context, params) => ({
    contents: [readOf(parseParams(uriParams, params).uri)],
  }),
  'prompts/list': async () => ({
    prompts: Object.keys(PROMPTS).map((name) => ({ name, description: name })),
  }),
  'prompts/get': async (_context, params) => {
    const { name, arguments: given = {} } = parseParams(promptParams, params)
    const said = named(PROMPTS, name)(given)
    return { messages: said.map((content) => ({ role: 'user', content })) }
  },
  'tools/list': async () => ({
    tools: Object.keys(TOOLS).map((name) => ({
      name,
      description: name,
      inputSchema: { type: 'object', properties: {} },
    })),
  }),
  'tools/call': async (_context, params) => named(TOOLS, parseParams(toolParams, params).name)(),
  'completion/complete': async (_context, params) => {
    parseParams(completeParams, params)
    return { completion: { values: ['paris'], total: 1, hasMore: false } }
  },
}

export type SuiteServer = { readonly url: string; close(): Promise<void> }

/** Starts it on a free loopback port; any token will do. */
export async function startSuiteServer(): Promise<SuiteServer> {
  const clock = manualClock(Date.UTC(2026, 10, 21, 12))
  // The methods above ask nothing of the services of records.
  const services = {
    clock,
    limits: DEFAULT_MCP_LIMITS,
    unheard: { heard: () => undefined },
    serviceName: 'suite',
    version: '0',
    store: { head: async () => ({ latestVersion: 1 }) },
  } as unknown as McpServices
  const claims = { sub: 'suite', scopes: ['care.read.user'], expiresAtSeconds: 2_000_000_000 }
  const { addModernRoute, listens } = openModern(services, {
    records: RECORDS,
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
