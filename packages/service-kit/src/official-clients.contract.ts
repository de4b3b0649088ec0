// The official MCP clients, unmodified, as judges of a service: they throw if an answer breaks a schema of theirs or a tool's own.
// A service's own suite calls this, so that what fails names the service; what it does beyond calling is in its own tests.
import * as sdk2 from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

/** What both generations of clients do alike. */
export type OfficialClient = {
  getServerVersion(): { readonly name: string } | undefined
  getInstructions(): string | undefined
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<object>
  listResources(): Promise<{ readonly resources: readonly { readonly uri: string }[] }>
  listResourceTemplates(): Promise<{ readonly resourceTemplates: readonly object[] }>
  listPrompts(): Promise<{ readonly prompts: readonly object[] }>
  getPrompt(call: { name: string; arguments: Record<string, string> }): Promise<object>
  complete(call: {
    ref: { type: 'ref/resource'; uri: string }
    argument: { name: string; value: string }
    context: { arguments: Record<string, string> }
  }): Promise<{ readonly completion: { readonly values: readonly string[] } }>
}

type Place = { readonly url: URL; readonly headers: Record<string, string> }

type Connected = {
  readonly client: OfficialClient
  readonly revision: string | undefined
  close(): Promise<void>
}

async function connectFirst({ url, headers }: Place): Promise<Connected> {
  const client = new Client({ name: 'host', version: '1' })
  const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } })
  await client.connect(transport)
  return { client, revision: transport.protocolVersion, close: () => client.close() }
}

const connectSecond =
  (mode: 'legacy' | 'auto' | { readonly pin: '2026-07-28' }) =>
  async ({ url, headers }: Place): Promise<Connected> => {
    const client = new sdk2.Client({ name: 'host', version: '2' }, { versionNegotiation: { mode } })
    await client.connect(new sdk2.StreamableHTTPClientTransport(url, { requestInit: { headers } }))
    const revision = client.getNegotiatedProtocolVersion()
    return { client, revision, close: () => client.close() }
  }

/** The clients by the revision that they come to where both are served. */
const CLIENTS = {
  '2025-11-25': { 'SDK 1.x': connectFirst, 'SDK 2.x': connectSecond('legacy') },
  '2026-07-28': {
    'SDK 2.x, negotiating': connectSecond('auto'),
    'SDK 2.x, pinned': connectSecond({ pin: '2026-07-28' }),
  },
} as const

export function testOfficialClients(options: {
  /** The service and the rule. */
  readonly title: string
  readonly revisions: readonly (keyof typeof CLIENTS)[]
  readonly start: () => Promise<Place & { close(): Promise<unknown> }>
  readonly serverName: string
  /** Words of its instructions. */
  readonly instructions: string
  /** A call of each of its tools. */
  readonly calls: Readonly<Record<string, Record<string, unknown>>>
  /** What else it serves. */
  readonly askMore?: (client: OfficialClient) => Promise<void>
}): void {
  const { calls, revisions, title } = options
  const clients = revisions.flatMap((revision) =>
    Object.entries(CLIENTS[revision]).map(([name, connect]) => ({ name, revision, connect })),
  )
  describe.each([title])('%s', () => {
    let place: Awaited<ReturnType<typeof options.start>>
    beforeAll(async () => {
      place = await options.start()
    })
    afterAll(() => place.close())

    test.each(clients)(
      '$name speaks $revision, and finds its schemas respected by everything that is served',
      async ({ connect, revision }) => {
        const connected = await connect(place)
        try {
          const { client } = connected
          expect(connected.revision).toBe(revision)
          expect(client.getServerVersion()?.name).toBe(options.serverName)
          expect(client.getInstructions()).toContain(options.instructions)
          const { tools } = await client.listTools()
          expect(tools.map(({ name }) => name).toSorted()).toEqual(Object.keys(calls).toSorted())
          for (const [name, values] of Object.entries(calls))
            expect(await client.callTool({ name, arguments: values })).toHaveProperty(
              'structuredContent',
            )
          await options.askMore?.(client)
        } finally {
          await connected.close()
        }
      },
    )
  })
}
