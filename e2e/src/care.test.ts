import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { expect, inject, it } from 'vitest'
import { z } from 'zod'
import { connectHost } from './care-host.ts'
import { writeRecord } from './care-writer.ts'
import { eventually } from './eventually.ts'

const Verification = z.object({
  intact: z.boolean(),
  versions: z.int(),
  chains: z.array(z.unknown()),
})
const Written = z.object({
  uri: z.string(),
  version: z.int(),
  subscribers: z.int(),
  notified: z.boolean(),
})

const stack = inject('stack')

async function write(body: Record<string, unknown>) {
  const answer = await writeRecord(stack.description.care, body)
  expect(answer.status).toBe(200)
  return Written.parse(await answer.json())
}

it('npm start brings care up with sample records, every chain intact', async () => {
  const answer = await fetch(`${stack.description.care.baseUrl}/verify`)
  const verification = Verification.parse(await answer.json())
  expect(verification.intact).toBe(true)
  expect(verification.chains.length).toBeGreaterThanOrEqual(4)
  expect(verification.versions).toBeGreaterThan(verification.chains.length)
})

it("a clinician's correction reaches a subscribed host of the official SDK, with a spoken retraction", async () => {
  const uri = 'care://heron/medication'
  const client = await connectHost(stack.description.care, 'care.read.user')
  const heard: string[] = []
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
    heard.push(params.uri)
  })
  await client.subscribeResource({ uri })
  const value = 'Take half a tablet of lisinopril 20 mg at breakfast.'
  const slot = { patient: 'heron', domain: 'medication' }
  const written = await write({ ...slot, value, authorId: 'dr-osei', authorLabel: 'Dr Osei' })
  expect(written).toMatchObject({ uri, subscribers: 1, notified: true })
  await eventually(() => heard.includes(uri))
  const read = await client.readResource({ uri })
  expect(JSON.stringify(read.contents)).toContain(value)
  const retraction = String(read._meta?.['care/retraction'])
  expect(retraction).toContain(value)
  expect(retraction).toContain('Dr Osei')
  await client.close()
})

it('the person’s host finds no trace of an internal record', async () => {
  const client = await connectHost(stack.description.care, 'care.read.user')
  const { resources } = await client.listResources()
  expect(resources.map(({ uri }) => uri).filter((uri) => uri.startsWith('care-internal:'))).toEqual(
    [],
  )
  await expect(
    client.readResource({ uri: 'care-internal://heron/care-plan' }),
  ).rejects.toMatchObject({
    code: -32002,
  })
  await client.close()
})
