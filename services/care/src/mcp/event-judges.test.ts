// C22 by other people's code: the AI SDK's client and its webhook handler, and Standard Webhooks' own verifier.
import {
  createMCPClient,
  experimental_createMCPEventWebhook,
  type Experimental_MCPEvent as McpEventMessage,
  type Experimental_MCPEventStore as McpEventStore,
  type Experimental_MCPEventSubscription as McpEventSubscription,
} from '@ai-sdk/mcp'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { drawSecret, useEvents } from '../testing/event-receiver.fixture.ts'

const on = useEvents()
const sentence = (value: string, patient = 'ann') => on.write({ patient, value })

function memoryStore(): McpEventStore & { readonly kept: Map<string, McpEventSubscription> } {
  const stored = new Map<string, McpEventSubscription>()
  return {
    kept: stored,
    get: async (key) => stored.get(key),
    getById: async (id) => [...stored.values()].find((each) => each.id === id),
    set: async (each) => void stored.set(each.key, each),
    update: async (key, patch) => {
      const each = stored.get(key)
      if (each !== undefined) stored.set(key, { ...each, ...patch })
    },
    delete: async (key) => void stored.delete(key),
  }
}

test('C22: the AI SDK lists, subscribes, is asked, hears, refreshes and unsubscribes', async () => {
  const store = memoryStore()
  const heard: McpEventMessage[] = []
  const handle = experimental_createMCPEventWebhook({
    store,
    onEvent: async ({ event }) => void heard.push(event),
  })
  const statuses: number[] = []
  const { createServer } = await import('node:http')
  const { text } = await import('node:stream/consumers')
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const headers = request.headers as Record<string, string>
    const url = `http://receiver.test${request.url}`
    const answer = await handle(new Request(url, { method: 'POST', headers, body }))
    statuses.push(answer.status)
    response
      .writeHead(answer.status, Object.fromEntries(answer.headers))
      .end(Buffer.from(await answer.arrayBuffer()))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const authorization = `Bearer ${on.issueToken('care.read.user', 'judge')}`
  const client = await createMCPClient({
    transport: { type: 'http', url: `${on.care.url}/mcp/2026-07-28`, headers: { authorization } },
    experimental_events: { store },
  })
  const { experimental_events: events } = client
  const { events: listed } = await events.list()
  expect(listed.map(({ name }) => name)).toEqual(['care.record.revised'])
  await sentence('without sugar')
  const delivery = {
    mode: 'webhook',
    url: `http://127.0.0.1:${port}/hook`,
    allowInsecureLocalhost: true,
  } as const
  const args = { patient: 'ann' }
  const requested = { name: 'care.record.revised', arguments: args, delivery }
  const { id, truncated } = await events.subscribe(requested)
  expect(truncated).toBe(false)
  expect(statuses).toEqual([200])
  await sentence('with honey')
  await expect.poll(() => heard.length).toBeGreaterThan(0)
  expect(heard[0]).toMatchObject({
    name: 'care.record.revised',
    data: { uri: 'care://ann/tea/2', version: 2, retracts: true },
  })
  expect(JSON.stringify(heard)).not.toContain('honey')
  expect(await events.refresh({ id })).toMatchObject({ id, truncated: false })
  await sentence('black')
  await expect.poll(() => heard.at(-1)?.data).toMatchObject({ version: 3 })
  await events.unsubscribe({ id })
  await sentence('green')
  // A second subscriber hears of what the first one does not hear any more.
  const other = await on.makeHostFor('care.read.user', 'judge').subscribe(on.receiver.url)
  await sentence('iced')
  await expect.poll(() => on.receiver.got).toHaveLength(1)
  expect(other.error).toBeUndefined()
  // A refresh before a taking is noted brings that event again, under its id.
  expect(new Set(heard.map(({ eventId }) => eventId)).size).toBe(2)
  expect(store.kept.size).toBe(0)
  await client.close()
  server.closeAllConnections()
  server.close()
})

test('C22: Standard Webhooks verifies every message, and both secrets while one replaces the other', async () => {
  const host = on.makeHostFor('care.read.user', 'judge')
  const [before, after] = [drawSecret(), drawSecret()]
  const url = `${on.receiver.url}/rotating`
  /** Each once: a delivery whose answer is late is repeated. */
  const messages = () => {
    const got = on.receiver.got.filter(({ path }) => path === '/rotating')
    const ids = got.map(({ event }) => event.eventId)
    return got.filter(({ event }, at) => ids.indexOf(event.eventId) === at)
  }
  const delivery = { mode: 'webhook', url, secret: before }
  const bob = { arguments: { patient: 'bob' } }
  expect(await host.subscribe(url, { ...bob, delivery })).toMatchObject({
    result: { resultType: 'complete', truncated: false },
  })
  await sentence('one', 'bob')
  await expect.poll(messages).toHaveLength(1)
  await host.subscribe(url, { ...bob, delivery: { ...delivery, secret: after } })
  await sentence('two', 'bob')
  await expect.poll(messages).toHaveLength(2)
  const [first, second] = messages()
  const challenge = on.receiver.challenges.find(({ path }) => path === '/rotating')
  for (const [message, secret] of [
    [challenge, before],
    [first, before],
    [second, before],
    [second, after],
  ] as const) {
    if (message === undefined) throw new Error('a message is missing')
    expect(new Webhook(secret).verify(message.body, message.headers)).toEqual(message.event)
    const tampered = message.body.replace('"', ' "')
    expect(() => new Webhook(secret).verify(tampered, message.headers)).toThrow(/signature/i)
  }
  expect(first?.headers['webhook-id']).toBe(first?.event.eventId)
  expect(() => new Webhook(after).verify(first?.body ?? '', first?.headers ?? {})).toThrow(
    /signature/i,
  )
})
