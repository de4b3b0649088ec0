// The official client of 2026-07-28, unmodified, against the complete service: pinned to the revision, and negotiating.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { testOfficialClients } from '@tallystick/service-kit/official-clients'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MODERN_RESOURCE } from '../../testing/care.fixture.ts'
import { type RunningCare, startRunningCare } from '../../testing/running-care.fixture.ts'
import { judgedCare, readValue, TEA, writeTea } from '../official-client.fixture.ts'

const PLAN = 'care-internal://ann/plan'

testOfficialClients({
  title: 'C21: care and the official clients',
  revisions: ['2026-07-28'],
  async start() {
    const running = await startRunningCare()
    await writeTea(running, 'No sugar.')
    const token = running.token('care.read.user', { audience: MODERN_RESOURCE })
    const url = new URL(`${running.url}/mcp/2026-07-28`)
    const headers = { authorization: `Bearer ${token}` }
    return { url, headers, close: () => running.remove() }
  },
  ...judgedCare('No sugar.'),
})

let care: RunningCare
const closing: (() => Promise<void>)[] = []
beforeAll(async () => {
  care = await startRunningCare()
  await write('One sugar.')
  await write('No sugar.')
  const plan = { patient: 'ann', domain: 'plan', audience: 'assistant', authorId: 'dr-osei' }
  await care.write({ ...plan, value: 'Watch for falls.' })
})
afterAll(async () => {
  for (const close of closing.splice(0)) await close()
  await care.remove()
})

const write = (value: string) => writeTea(care, value)
const issueToken = (scope: string) => care.token(scope, { audience: MODERN_RESOURCE })

async function connect(mode: 'auto' | { readonly pin: '2026-07-28' }, scope = 'care.read.user') {
  const client = new Client({ name: 'host', version: '2' }, { versionNegotiation: { mode } })
  const updated: string[] = []
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    updated.push(params.uri)
  })
  const transport = new StreamableHTTPClientTransport(new URL(`${care.url}/mcp/2026-07-28`), {
    requestInit: { headers: { Authorization: `Bearer ${issueToken(scope)}` } },
  })
  await client.connect(transport)
  closing.push(() => client.close())
  return { client, updated }
}

describe.each([['auto' as const], [{ pin: '2026-07-28' } as const]])(
  'C21: the client, %j',
  (mode) => {
    it('lists no resource that its token may not read', async () => {
      const { client } = await connect(mode)
      const { resources } = await client.listResources()
      expect(resources.map(({ uri }) => uri)).not.toContain(PLAN)
    })

    it('listens, is told, and reads the new value with its retraction, never a kept one', async () => {
      const { client, updated } = await connect(mode)
      const listening = await client.listen({ resourceSubscriptions: [TEA, PLAN] })
      expect(listening.honoredFilter).toEqual({ resourceSubscriptions: [TEA] })
      await client.readResource({ uri: TEA })
      await write('Honey.')
      await expect.poll(() => updated).toEqual([TEA])
      const read = await client.readResource({ uri: TEA })
      expect(readValue(read)).toBe('Honey.')
      expect(read._meta?.['care/retraction']).toContain('No sugar.')
      await write('No sugar.')
      await expect.poll(() => updated).toHaveLength(2)
      await listening.close()
    })

    it('reads both absent and hidden records as -32602', async () => {
      const { client } = await connect(mode)
      for (const uri of ['care://ann/absent', PLAN])
        await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32602 })
    })

    it('is told of the end of a listen when the service stops serving it', async () => {
      const { client } = await connect(mode)
      const listening = await client.listen({ resourceSubscriptions: [TEA] })
      await care.service.stopping()
      expect(await listening.closed).toBe('graceful')
    })
  },
)
