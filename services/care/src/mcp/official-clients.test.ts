// The official clients, unmodified, against the complete service: SDK 1.x and SDK 2.x. absence.test.ts breaks their streams.
import * as sdk2 from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { testOfficialClients } from '@tallystick/service-kit/official-clients'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type RunningCare, startRunningCare } from '../testing/running-care.fixture.ts'
import { judgedCare, readValue, TEA, writeTea } from './official-client.fixture.ts'

const BOTH = 'care.read.user care.read.assistant'

testOfficialClients({
  title: 'C1: care and the official clients',
  revisions: ['2025-11-25'],
  async start() {
    const running = await startRunningCare()
    await writeTea(running, 'One sugar.')
    const authorization = `Bearer ${running.token('care.read.user care.read.assistant')}`
    const url = new URL(`${running.url}/mcp`)
    return { url, headers: { authorization }, close: () => running.remove() }
  },
  ...judgedCare('One sugar.'),
})

let care: RunningCare
const closing: (() => Promise<void>)[] = []
beforeEach(async () => {
  care = await startRunningCare()
  await write('One sugar.')
})
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
  await care.remove()
})

const write = (value: string) => writeTea(care, value)
const endpoint = (): URL => new URL(`${care.url}/mcp`)
const headers = (scope = BOTH) => ({ Authorization: `Bearer ${care.token(scope)}` })

/** An SDK 1.x client with its session open. */
const connect = async () => {
  const client = new Client({ name: 'host', version: '1' })
  const updated: string[] = []
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
    updated.push(params.uri)
  })
  const transport = new StreamableHTTPClientTransport(endpoint(), {
    requestInit: { headers: headers() },
  })
  await client.connect(transport)
  closing.push(() => client.close())
  return { client, transport, updated }
}

describe('SDK 1.x Client', () => {
  it('subscribes, is notified and re-reads the new value', async () => {
    const { client, updated } = await connect()
    await client.subscribeResource({ uri: TEA })
    await write('No sugar.')
    await expect.poll(() => updated).toEqual([TEA])
    const read = await client.readResource({ uri: TEA })
    expect(readValue(read)).toBe('No sugar.')
    expect(read._meta?.['care/retraction']).toContain('One sugar.')
  })

  it('is answered to log level, unsubscribe, ping and termination', async () => {
    const { client, transport, updated } = await connect()
    await client.setLoggingLevel('emergency')
    await client.subscribeResource({ uri: TEA })
    await client.unsubscribeResource({ uri: TEA })
    await write('No sugar.')
    expect(await client.ping()).toEqual({})
    expect(updated).toEqual([])
    await transport.terminateSession()
    await expect(client.ping()).rejects.toThrow('mcp-session-id header required')
  })

  it('reads both absent and hidden records as -32002', async () => {
    const { client } = await connect()
    for (const uri of ['care://ann/absent', 'care-internal://ann/absent'])
      await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32002 })
  })

  it('speaks: the audio blob is a WAV of the sentence', async ({ skip }) => {
    const { client } = await connect()
    const { resources } = await client.listResources()
    const uri = `${TEA}/1/audio`
    if (!resources.some((resource) => resource.uri === uri)) skip('espeak-ng is not installed')
    const [content] = (await client.readResource({ uri })).contents
    const wav = Buffer.from(
      content !== undefined && 'blob' in content ? content.blob : '',
      'base64',
    )
    expect(wav.toString('latin1', 0, 4)).toBe('RIFF')
    expect(wav.length).toBeGreaterThan(10_000)
  })
})

describe('SDK 2.x client', () => {
  it('falls back to 2025-11-25, subscribes, is notified', async () => {
    const client = new sdk2.Client({ name: 'host', version: '2' })
    const updated: string[] = []
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
      updated.push(params.uri)
    })
    const transport = new sdk2.StreamableHTTPClientTransport(endpoint(), {
      requestInit: { headers: headers() },
    })
    await client.connect(transport)
    closing.push(() => client.close())
    expect(client.getNegotiatedProtocolVersion()).toBe('2025-11-25')
    await client.subscribeResource({ uri: TEA })
    await write('No sugar.')
    await expect.poll(() => updated).toEqual([TEA])
    expect(readValue(await client.readResource({ uri: TEA }))).toBe('No sugar.')
    // This client renumbers -32002 for its callers; the message shows what was on the wire.
    await expect(client.readResource({ uri: 'care://ann/absent' })).rejects.toThrow('not found')
  })
})
