/** Every operation in the reference has an example, and every example is answered as the reference says. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { modernHeaders } from '../mcp/edges/modern.fixture.ts'
import { joinSignature, MODERN_RESOURCE, RESOURCE } from '../testing/care.fixture.ts'
import { type RunningCare, startRunningCare } from '../testing/running-care.fixture.ts'
import { discoverExample, initializeExample, uriExample, writeExample } from '../wire/examples.ts'

let care: RunningCare
let session = ''

beforeAll(async () => {
  care = await startRunningCare()
})
afterAll(() => care.remove())

const bearer = (): Record<string, string> => ({
  authorization: `Bearer ${care.token('care.read.user')}`,
})

function signed(body: object): Record<string, string> {
  const timestamp = new Date().toISOString()
  const signature = joinSignature({ timestamp, body: JSON.stringify(body) })
  return { 'x-care-timestamp': timestamp, 'x-care-signature': signature }
}

const inSession = () => ({ ...bearer(), 'mcp-session-id': session })

type Example = {
  readonly operation: string
  readonly body?: object
  readonly headers?: () => Record<string, string>
  readonly query?: Readonly<Record<string, string>>
  readonly has: object
}

const ofUri = { uri: uriExample }

const EXAMPLES: readonly Example[] = [
  {
    operation: 'post /write',
    body: writeExample,
    headers: () => signed(writeExample),
    has: { uri: uriExample, version: 1, subscribers: 0, notified: false },
  },
  {
    operation: 'post /mcp',
    body: initializeExample,
    headers: bearer,
    has: { jsonrpc: '2.0', id: 1, result: { protocolVersion: '2025-11-25' } },
  },
  {
    operation: 'post /mcp/2026-07-28',
    body: discoverExample,
    headers: () => ({
      authorization: `Bearer ${care.token('care.read.user', { audience: MODERN_RESOURCE })}`,
      ...modernHeaders('server/discover'),
    }),
    has: { result: { resultType: 'complete', supportedVersions: ['2026-07-28'] } },
  },
  { operation: 'get /mcp', headers: inSession, has: { type: 'text/event-stream' } },
  { operation: 'delete /mcp', headers: inSession, has: { text: '' } },
  {
    operation: 'get /verify',
    query: ofUri,
    has: { uri: uriExample, versions: 1, intact: true },
  },
  {
    operation: 'get /verify/export',
    query: ofUri,
    headers: bearer,
    has: { text: expect.stringContaining(writeExample.value) },
  },
  {
    operation: 'get /verify/checkpoint',
    query: { journal: 'user', cosigned: 'no' },
    has: { text: expect.stringMatching(/\n1\n/) },
  },
  {
    operation: 'get /verify/proof',
    query: { journal: 'user', oldSize: '1', size: '1' },
    has: { kind: 'consistency', journal: 'user', oldSize: 1, size: 1, proof: [] },
  },
  { operation: 'get /verify/witnesses', has: { size: 1, witnesses: [] } },
  { operation: 'get /principal', headers: bearer, has: { scopes: ['care.read.user'] } },
  {
    operation: 'get /reads',
    query: { patient: writeExample.patient, limit: '50' },
    headers: bearer,
    has: { recording: 'off', reads: [] },
  },
  { operation: 'get /unheard', headers: bearer, has: { corrections: [] } },
  {
    operation: 'get /.well-known/oauth-protected-resource',
    has: { resource: RESOURCE },
  },
  {
    operation: 'get /.well-known/oauth-protected-resource/mcp',
    has: { resource: RESOURCE },
  },
  {
    operation: 'get /.well-known/oauth-protected-resource/mcp/2026-07-28',
    has: {
      resource: MODERN_RESOURCE,
      scopes_supported: ['care.read.user', 'care.read.assistant'],
    },
  },
  { operation: 'get /health', has: { ok: true } },
  { operation: 'get /ready', has: { ready: true } },
  { operation: 'get /metrics', has: { text: expect.stringContaining('care_sessions 0') } },
]

type Operation = {
  readonly requestBody?: {
    readonly content: Record<string, { readonly schema: { readonly $ref: string } }>
  }
  readonly parameters?: readonly {
    readonly in: string
    readonly name: string
    readonly example?: unknown
  }[]
}

async function reference() {
  const document = await (await fetch(`${care.url}/openapi.json`)).json()
  return document as {
    readonly paths: Record<string, Record<string, Operation>>
    readonly components: { readonly schemas: Record<string, { readonly examples?: unknown }> }
  }
}

async function answerTo({ operation, body, headers, query }: Example) {
  const [method = '', path = ''] = operation.split(' ')
  const aborted = new AbortController()
  const answer = await fetch(`${care.url}${path}?${new URLSearchParams(query).toString()}`, {
    method: method.toUpperCase(),
    headers: { ...headers?.(), ...(body && { 'content-type': 'application/json' }) },
    signal: aborted.signal,
    ...(body && { body: JSON.stringify(body) }),
  })
  session = answer.headers.get('mcp-session-id') ?? session
  const type = answer.headers.get('content-type') ?? ''
  if (type.startsWith('text/event-stream')) {
    aborted.abort()
    return { status: answer.status, found: { type } }
  }
  const text = await answer.text()
  const found: unknown = type.startsWith('application/json') ? JSON.parse(text) : { text }
  return { status: answer.status, found }
}

describe('every operation has an example, answered as the reference says', () => {
  test('none is missing', async () => {
    const { paths } = await reference()
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    )
    expect(operations.toSorted()).toEqual(EXAMPLES.map((each) => each.operation).toSorted())
  })

  test.each(EXAMPLES)('$operation', async (example) => {
    const { status, found } = await answerTo(example)
    expect([status, found]).toEqual([200, expect.objectContaining({})])
    expect(found).toMatchObject(example.has)
  })

  test.each(EXAMPLES)('$operation: the reference shows what was sent', async (example) => {
    const [method = '', path = ''] = example.operation.split(' ')
    const { paths, components } = await reference()
    const operation = paths[path]?.[method]
    const body = operation?.requestBody?.content['application/json']?.schema.$ref
    const schema = components.schemas[body?.split('/').at(-1) ?? '']
    expect(schema?.examples).toEqual(example.body && [example.body])
    // Of parameters that exclude each other, one has an example.
    const shown = (operation?.parameters ?? []).filter(
      (each) => each.in === 'query' && each.example !== undefined,
    )
    expect(shown.map(({ name, example: value }) => [name, String(value)])).toEqual(
      Object.entries(example.query ?? {}),
    )
  })
})
