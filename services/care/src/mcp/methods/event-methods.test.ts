// C22: the methods of MCP Events, their error table, and attacks on what they open: records of others, the operator's network,
// the receivers of others. Over real HTTP, with a receiver that answers as each test wants.
import { decodeJwt, SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { TOKEN_SECRET } from '../../testing/care.fixture.ts'
import {
  drawSecret,
  EVENTS_AUDIENCE,
  EVENTS_ENVIRONMENT,
  type EventReceiverFixture,
  eventHost,
  useEvents,
} from '../../testing/event-receiver.fixture.ts'
import { type RunningCare, startRunningCare } from '../../testing/running-care.fixture.ts'
import { RECORD_REVISED } from '../../wire/events.ts'

const on = useEvents()
let strict: RunningCare
let count = 0
let url = ''
beforeAll(async () => {
  strict = await startRunningCare({
    environment: { ...EVENTS_ENVIRONMENT, EVENTS_PRIVATE: 'false', EVENTS: 'sep' },
  })
})
afterAll(() => strict.remove())
beforeEach(() => {
  count += 1
  url = `${on.receiver.url}/hook/${count}`
})

const makeHost = (scope: string, sub = `sub-${count}`) => on.makeHostFor(scope, sub)
const write = (over: Record<string, string>) => on.write({ domain: `tea-${count}`, ...over })
/** A host of one person, whose token says for which program it was issued. */
const hostWith = async (claims: object) => {
  const payload = decodeJwt(on.issueToken('care.read.user', `sub-${count}`))
  const signing = new SignJWT({ ...payload, ...claims }).setProtectedHeader({ alg: 'HS256' })
  return eventHost(on.care, await signing.sign(Buffer.from(TOKEN_SECRET)))
}
/** Ends once everything before it would have come. */
const settle = async (): Promise<void> => {
  const mark = `mark-${count}-${on.receiver.got.length}`
  const last = `${on.receiver.url}/${mark}`
  await makeHost('care.read.user').subscribe(last, { arguments: { patient: mark } })
  await write({ patient: mark })
  await expect.poll(() => on.receiver.got.some(({ path }) => path === `/${mark}`)).toBe(true)
}
const uris = () =>
  on.receiver.got
    .filter(({ path }) => path === new URL(url).pathname)
    .map(({ event }) => event.data.uri)

describe('C22: subscribing', () => {
  test('server/discover declares events in both forms, and events/list has the one type', async () => {
    const host = makeHost('care.read.user')
    expect(await host.call('server/discover')).toMatchObject({
      result: {
        capabilities: {
          events: {},
          extensions: { 'io.modelcontextprotocol/events': { listChanged: false } },
        },
      },
    })
    expect((await host.call('events/list')).result).toMatchObject({
      resultType: 'complete',
      events: [RECORD_REVISED],
    })
  })

  test('delivers what is written from then on, without a value, and unsubscribing ends that', async () => {
    const host = makeHost('care.read.user')
    await write({ value: 'before' })
    const { result } = await host.subscribe(url)
    expect(result).toMatchObject({ resultType: 'complete', truncated: false })
    expect(result?.['id']).toMatch(/^sub_[0-9a-f]{32}$/)
    await write({ value: 'hidden sentence', language: 'de' })
    await expect.poll(() => on.receiver.got).toHaveLength(1)
    const [got] = on.receiver.got
    expect(got?.event).toEqual({
      eventId: expect.stringMatching(/^evt_[0-9a-f]{32}$/),
      name: 'care.record.revised',
      timestamp: expect.stringMatching(/Z$/),
      data: {
        uri: `care://ann/tea-${count}/2`,
        version: 2,
        versionHash: expect.stringMatching(/^[0-9a-f]{64}$/),
        retracts: true,
        language: 'de',
      },
      cursor: expect.any(String),
    })
    expect(got?.headers['x-mcp-subscription-id']).toBe(result?.['id'])
    expect(got?.body).not.toContain('hidden')
    expect((await host.unsubscribe(url)).result).toMatchObject({ resultType: 'complete' })
    expect((await host.unsubscribe(url)).error).toBeUndefined()
    await write({})
    await settle()
    expect(uris()).toHaveLength(1)
  })

  test('from a cursor delivers again what came behind it, and a refresh skips nothing', async () => {
    const host = makeHost('care.read.user')
    const { result } = await host.subscribe(url)
    for (const value of ['1', '2', '3']) await write({ value })
    await expect.poll(uris).toHaveLength(3)
    const second = on.receiver.got[1]?.event.cursor
    await host.subscribe(url, { cursor: second })
    await expect.poll(uris).toHaveLength(4)
    await host.unsubscribe(url)
    await host.subscribe(url, { cursor: result?.['cursor'] })
    await expect.poll(uris).toHaveLength(7)
    const versions = on.receiver.got.map(({ event }) => event.data.version)
    expect(versions).toEqual([1, 2, 3, 3, 1, 2, 3])
    const ids = on.receiver.got.map(({ event }) => event.eventId)
    expect(new Set(ids).size).toBe(3)
  })

  test.each([
    [undefined, 3_600],
    [1, 60],
    [600_000, 600],
    [9e12, 86_400],
    [null, 86_400],
  ])('ttlMs %s is granted as %i seconds', async (ttlMs, seconds) => {
    const { result } = await makeHost('care.read.user').subscribe(url, { ttlMs })
    const grantedMs = Date.parse(String(result?.['refreshBefore'])) - Date.now()
    expect(Math.abs(grantedMs / 1_000 - seconds)).toBeLessThan(30)
  })
})

describe('C22: refusals', () => {
  const webhook = { mode: 'webhook', url: 'https://receiver.example/', secret: drawSecret() }
  test.each<[string, number, object]>([
    ['another event', -32_011, { name: 'care.record.read' }],
    ['another way', -32_014, { delivery: { mode: 'poll' } }],
    ['another patient than its scope names', -32_012, { arguments: { patient: 'bob' } }],
    ['no patient', -32_602, { arguments: {} }],
    ['an argument too many', -32_602, { arguments: { patient: 'ann', audience: 'assistant' } }],
    ['a name that none can have', -32_602, { arguments: { patient: 'a/b' } }],
    ['a name that is too long', -32_602, { arguments: { patient: 'é'.repeat(129) } }],
    ['no URL', -32_602, { delivery: { ...webhook, url: 'receiver' } }],
    [
      'a URL with credentials',
      -32_602,
      { delivery: { ...webhook, url: 'https://a:b@c.example/' } },
    ],
    ['a URL with a fragment', -32_602, { delivery: { ...webhook, url: 'https://c.example/#a' } }],
    ['a URL of a file', -32_602, { delivery: { ...webhook, url: 'file:///etc/passwd' } }],
    [
      'a URL that is too long',
      -32_602,
      { delivery: { ...webhook, url: `https://c.example/${'a'.repeat(2_048)}` } },
    ],
    [
      'a secret of 23 bytes',
      -32_602,
      { delivery: { ...webhook, secret: `whsec_${Buffer.alloc(23).toString('base64')}` } },
    ],
    [
      'a secret of 65 bytes',
      -32_602,
      { delivery: { ...webhook, secret: `whsec_${Buffer.alloc(65).toString('base64')}` } },
    ],
    ['a secret without its prefix', -32_602, { delivery: { ...webhook, secret: 'c2VjcmV0' } }],
    ['a cursor of nobody', -32_602, { cursor: 'MQ' }],
    ['a ttl of nothing', -32_602, { ttlMs: 0 }],
  ])('%s is refused with %i before anybody is asked', async (_, code, over) => {
    const { error } = await makeHost('care.read.user:ann').subscribe(url, over)
    expect(error?.code).toBe(code)
    expect(on.receiver.challenges).toEqual([])
  })

  test('the draft’s codes come with its profile', async () => {
    const host = eventHost(strict, strict.token('care.read.user', { audience: EVENTS_AUDIENCE }))
    expect((await host.subscribe(url, { name: 'other' })).error?.code).toBe(-32_023)
    const delivery = { ...webhook, url: 'https://127.0.0.1:1/' }
    expect((await host.subscribe(url, { delivery })).error).toMatchObject({
      code: -32_027,
      data: { reason: 'connection_refused' },
    })
  })

  test.each<[string, EventReceiverFixture['challenge']]>([
    ['http_5xx', (_, response) => void response.writeHead(500).end('inside')],
    ['http_4xx', (_, response) => void response.writeHead(404).end('inside')],
    ['http_3xx', (_, response) => void response.writeHead(302, { location: '/' }).end('inside')],
    [
      'challenge_failed',
      (_, response) => void response.writeHead(200).end('{"challenge":"inside"}'),
    ],
    ['challenge_failed', (_, response) => void response.writeHead(200).end('inside')],
    [
      'challenge_failed',
      ({ event }, response) =>
        void response
          .writeHead(200)
          .end(JSON.stringify({ challenge: event.challenge, more: 'x'.repeat(9_000) })),
    ],
    ['connection_refused', (_, response) => void response.destroy()],
  ])(
    'a receiver that does not answer the challenge: %s, without its words',
    async (reason, answer) => {
      on.receiver.challenge = answer
      const { error } = await makeHost('care.read.user').subscribe(url)
      expect(error).toMatchObject({ code: -32_015, data: { reason } })
      expect(JSON.stringify(error)).not.toContain('inside')
      on.receiver.challenge = ({ event }, response) =>
        void response.writeHead(200).end(JSON.stringify({ challenge: event.challenge }))
      await write({})
      await settle()
      expect(uris()).toEqual([])
    },
  )

  test('a host that has a hundred may not have more, and may refresh those', async () => {
    const host = makeHost('care.read.user')
    const delivery = { mode: 'webhook', url, secret: drawSecret() }
    const patients = Array.from({ length: 100 }, (_, at) => ({
      arguments: { patient: `p-${at}` },
      delivery,
    }))
    for (const each of patients) expect((await host.subscribe(url, each)).error).toBeUndefined()
    expect((await host.subscribe(url, { delivery })).error).toMatchObject({
      code: -32_013,
      data: { limit: 'subscriptions', max: 100 },
    })
    expect((await host.subscribe(url, patients[0])).error).toBeUndefined()
    expect(on.receiver.challenges).toHaveLength(1)
  })
})

describe('an attack', () => {
  test('by a scope for people: no internal record is told of, at whatever time', async () => {
    await makeHost('care.read.user').subscribe(url)
    await write({ audience: 'assistant', domain: `plan-${count}` })
    await write({})
    await settle()
    expect(uris()).toEqual([`care://ann/tea-${count}/1`])
    await makeHost('care.read.user care.read.assistant').subscribe(url)
    await write({ audience: 'assistant', domain: `plan-${count}` })
    await expect.poll(uris).toContain(`care-internal://ann/plan-${count}/2`)
  })

  test('by a household’s token: nobody else’s records are told of', async () => {
    const host = makeHost('care.read.user:ann')
    await host.subscribe(url)
    await write({ patient: 'bob' })
    await write({})
    await settle()
    expect(uris()).toEqual([`care://ann/tea-${count}/1`])
  })

  test('by a refresh with less right keeps none of what was more', async () => {
    await makeHost('care.read.user care.read.assistant').subscribe(url)
    await makeHost('care.read.user').subscribe(url)
    await write({ audience: 'assistant', domain: `plan-${count}` })
    await settle()
    expect(uris()).toEqual([])
  })

  test('by a cursor of another principal is refused', async () => {
    const { result } = await makeHost('care.read.user', 'eve').subscribe(url)
    const { error } = await makeHost('care.read.user', 'mallory').subscribe(url, {
      cursor: result?.['cursor'],
    })
    expect(error?.code).toBe(-32_602)
  })

  test('by another principal’s unsubscribing changes nothing', async () => {
    await makeHost('care.read.user').subscribe(url)
    await makeHost('care.read.user', 'mallory').unsubscribe(url)
    await write({})
    await expect.poll(uris).toHaveLength(1)
  })

  test('by another host of the same person: it has a subscription of its own, and needs the receiver’s word', async () => {
    const first = await hostWith({ client_id: 'chatgpt' })
    const { result } = await first.subscribe(url)
    on.receiver.challenge = (_, response) => void response.writeHead(404).end()
    for (const claims of [{ client_id: 'other' }, { azp: 'other' }, {}]) {
      const other = await hostWith(claims)
      expect((await other.subscribe(url)).error).toMatchObject({ code: -32_015 })
      await other.unsubscribe(url)
    }
    await write({})
    await expect.poll(uris).toHaveLength(1)
    expect(on.receiver.challenges).toHaveLength(4)
    on.receiver.challenge = ({ event }, response) =>
      void response.writeHead(200).end(JSON.stringify({ challenge: event.challenge }))
    const own = await (await hostWith({ azp: 'other' })).subscribe(url)
    expect(own.result?.['id']).not.toBe(result?.['id'])
  })

  test('C48: by another secret for the same URL: it signs nothing until the receiver has answered it', async () => {
    const host = makeHost('care.read.user')
    const secret = drawSecret()
    const delivery = { mode: 'webhook', url, secret }
    expect((await host.subscribe(url, { delivery })).error).toBeUndefined()
    on.receiver.challenge = (_, response) => void response.writeHead(404).end()
    expect((await host.subscribe(url)).error?.code).toBe(-32_015)
    await host.unsubscribe(url)
    expect((await host.subscribe(url)).error?.code).toBe(-32_015)
    // The one that it knows needs no other word.
    expect((await host.subscribe(url, { delivery })).error).toBeUndefined()
    expect(on.receiver.challenges).toHaveLength(3)
  })

  test('by many challenges: the eleventh within a minute is refused', async () => {
    const host = makeHost('care.read.user')
    on.receiver.challenge = (_, response) => void response.writeHead(500).end()
    const codes: (number | undefined)[] = []
    for (let at = 0; at < 11; at += 1)
      codes.push((await host.subscribe(`${url}/${at}`)).error?.code)
    expect(codes).toEqual([...Array.from({ length: 10 }, () => -32_015), -32_013])
    expect(on.receiver.challenges).toHaveLength(10)
  })

  test('on the operator’s network: by plain http, by loopback in every notation, by metadata', async () => {
    const host = eventHost(strict, strict.token('care.read.user', { audience: EVENTS_AUDIENCE }))
    const { port } = new URL(on.receiver.url)
    const secret = drawSecret()
    const plain = { delivery: { mode: 'webhook', url: `http://127.0.0.1:${port}/`, secret } }
    expect((await host.subscribe('', plain)).error?.code).toBe(-32_602)
    for (const name of [
      '127.0.0.1',
      '2130706433',
      '0x7f.1',
      'localhost',
      '[::1]',
      '[::ffff:7f00:1]',
      '169.254.169.254',
      '[64:ff9b::7f00:1]',
    ]) {
      const delivery = { mode: 'webhook', url: `https://${name}:${port}/`, secret }
      const { error } = await host.subscribe('', { delivery })
      expect([name, error?.data]).toEqual([name, { reason: 'connection_refused' }])
    }
    expect(on.receiver.challenges).toEqual([])
  })
})
