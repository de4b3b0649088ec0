// C21: `subscriptions/listen`: what is granted, what is sent and to whom, and how a listen ends.
import type { ServerResponse } from 'node:http'
import { Writable } from 'node:stream'
import { manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  ASSISTANT,
  BOTH,
  type McpFixture,
  MODERN_AUDIENCE,
  startMcp,
  USER,
} from '../mcp.fixture.ts'
import type { EventReader } from '../sessions/event-reader.fixture.ts'
import { Happening } from '../sessions/frames.ts'
import { DEFAULT_MCP_LIMITS, type McpLimits } from '../sessions/limits.ts'
import type { StreamEnd } from '../sessions/open-stream.ts'
import { createListens } from './listens.ts'
import { modernBody, modernCalls, modernHeaders } from './modern.fixture.ts'

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'
const TEA = 'care://ann/tea'
const PLAN = 'care-internal://ann/plan'
const MINUTE_MS = 60_000

let fixture: McpFixture
const revoked = new Set<string>()
const { call, listen, post, issueToken } = modernCalls(() => fixture)
const readers: EventReader[] = []
beforeEach(async () => {
  fixture = await startMcp({
    isRevoked: ({ jti }) => jti !== undefined && revoked.has(jti),
    limits: { unheardMs: 10 * MINUTE_MS, listensPerSubMax: 3, subscriptionsPerSessionMax: 4 },
  })
  await fixture.write({ domain: 'tea', value: 'One sugar.' })
  await fixture.write({ domain: 'plan', audience: 'assistant', value: 'Watch for falls.' })
})
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.drop()
  await fixture.close()
})

const open = async (scope: string, notifications: object, id: string | number = 'L1') => {
  const reader = await listen(issueToken(scope), notifications, id)
  readers.push(reader)
  return reader
}
const requested = (uri: string) => ({ resourceSubscriptions: [uri] })
/** Those behind the acknowledgement. */
const methods = (reader: EventReader) => reader.methods.slice(1)
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'
/** The end of a listen in order. */
const result = (id: string | number) => ({
  jsonrpc: '2.0',
  id,
  result: {
    resultType: 'complete',
    _meta: {
      [SUBSCRIPTION]: id,
      'io.modelcontextprotocol/serverInfo': { name: 'tallystick-care', version: '0.0.0' },
    },
  },
})
const about = (uri: string, id: string | number = 'L1') => ({
  jsonrpc: '2.0',
  method: 'notifications/resources/updated',
  params: { uri, _meta: { [SUBSCRIPTION]: id } },
})

describe('C21: what a listen is granted', () => {
  it('is acknowledged first, in the words of the request and under its id', async () => {
    const spelled = ['care://ann/%74ea', `${TEA}/1`, 'ui://care/echo']
    const wanted = { resourcesListChanged: true, resourceSubscriptions: spelled }
    const reader = await open(
      USER,
      { ...wanted, toolsListChanged: true, eventsListChanged: true },
      7,
    )
    expect(reader.messages).toEqual([
      {
        jsonrpc: '2.0',
        method: ACKNOWLEDGED,
        params: { notifications: wanted, _meta: { [SUBSCRIPTION]: 7 } },
      },
    ])
    expect(reader.headers).toMatchObject({
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    })
    await fixture.write({ domain: 'tea', value: 'No sugar.' })
    await expect.poll(() => reader.messages).toHaveLength(2)
    expect(reader.messages[1]).toEqual(about('care://ann/%74ea', 7))
  })

  it('is only what its principal may read: what is hidden is left out like what is not there', async () => {
    const answers = []
    for (const uri of [PLAN, 'care-internal://ann/absent', 'care://ann/absent', 'no-uri']) {
      const reader = await open(USER, requested(uri))
      await expect.poll(() => reader.hasEnded).toBe(true)
      answers.push(reader.messages)
    }
    const { method, params } = { method: ACKNOWLEDGED, params: { notifications: {} } }
    const nothing = [{ method, params }, result('L1')]
    expect(answers).toMatchObject([nothing, nothing, nothing, nothing])
    const { params: granted } = (await open(BOTH, requested(PLAN))).messages[0] ?? {}
    expect(granted?.['notifications']).toEqual(requested(PLAN))
  })

  it('has bounds: URIs in one listen, listens of one principal', async () => {
    const many = ['a', 'b', 'c', 'd', 'e'].map((name) => `care://ann/${name}`)
    const params = { notifications: { resourceSubscriptions: many } }
    expect((await call(USER, 'subscriptions/listen', params)).body.error?.code).toBe(-32602)
    for (let count = 0; count < 3; count += 1) await open(USER, { resourcesListChanged: true })
    const list = { notifications: { resourcesListChanged: true } }
    const refused = await call(USER, 'subscriptions/listen', list)
    expect([refused.status, refused.body]).toMatchObject([200, { id: 1, error: { code: -32603 } }])
    readers[0]?.drop()
    await expect.poll(() => fixture.endpoint.figures().streams).toBe(2)
    await open(USER, { resourcesListChanged: true })
    const other = issueToken(USER, 'another-host')
    readers.push(await listen(other, { resourcesListChanged: true }))
  })
})

describe('what a listen is sent', () => {
  it('is the update of what was asked for, at each write, and nothing else; the writer is told', async () => {
    const reader = await open(USER, { resourceSubscriptions: [TEA] })
    await fixture.write({ domain: 'weight' })
    expect((await fixture.write({ domain: 'tea', value: 'No sugar.' })).subscribers).toBe(1)
    await expect.poll(() => reader.messages).toHaveLength(2)
    expect(reader.messages[1]).toEqual(about(TEA))
    expect(reader.messages.map((each) => JSON.stringify(each)).join()).not.toMatch(/sugar/)
  })

  it('is list_changed only where the principal’s own list has changed', async () => {
    const list = { resourcesListChanged: true }
    const [user, assistant, household] = [
      await open(USER, list, 1),
      await open(ASSISTANT, list, 2),
      await open('care.read.user:bo', list, 3),
    ]
    await fixture.write({ domain: 'mood', audience: 'assistant' })
    await fixture.write({ domain: 'weight' })
    await fixture.write({ patient: 'bo', domain: 'weight' })
    const changed = 'notifications/resources/list_changed'
    await expect.poll(() => methods(household)).toEqual([changed])
    await expect.poll(() => methods(user)).toEqual([changed, changed])
    await expect.poll(() => methods(assistant)).toEqual([changed])
    // Withdrawn, still withdrawn, and back (C40).
    for (const status of ['entered-in-error', 'wrong-person'] as const)
      await fixture.write({ patient: 'bo', domain: 'weight', value: '', status })
    await fixture.write({ patient: 'bo', domain: 'weight' })
    await expect.poll(() => methods(household)).toEqual([changed, changed, changed])
  })

  it('is a sign of life at least every 15 s', async () => {
    const reader = await open(USER, { resourceSubscriptions: [TEA] })
    fixture.clock.advanceMs(15_000)
    await expect.poll(() => reader.comments).toContain('keepalive')
  })

  it('C29: counts as heard', async () => {
    const reader = await open(USER, { resourceSubscriptions: [TEA] })
    await fixture.write({ domain: 'tea', value: 'No sugar.' })
    await expect.poll(() => reader.updated).toEqual([TEA])
    fixture.clock.advanceMs(10 * MINUTE_MS)
    expect(fixture.endpoint.unheard()).toEqual([])
    reader.drop()
    await expect.poll(() => fixture.endpoint.figures().streams).toBe(0)
    await fixture.write({ domain: 'tea', value: 'Honey.' })
    fixture.clock.advanceMs(10 * MINUTE_MS)
    expect(fixture.endpoint.unheard()).toHaveLength(1)
  })
})

describe('how a listen ends', () => {
  it('in order, with its result, once its token expires; nothing is sent after that', async () => {
    const token = fixture.token(USER, { audience: MODERN_AUDIENCE, lifetimeSeconds: 60 })
    const reader = await listen(token, { resourceSubscriptions: [TEA] })
    fixture.clock.advanceMs(59_000)
    expect(reader.hasEnded).toBe(false)
    fixture.clock.advanceMs(1_000)
    await fixture.write({ domain: 'tea', value: 'No sugar.' })
    await expect.poll(() => reader.hasEnded).toBe(true)
    expect(reader.messages.slice(1)).toEqual([result('L1')])
  })

  it('before the next frame, once its token was revoked', async () => {
    const token = issueToken(USER)
    const reader = await listen(token, { resourceSubscriptions: [TEA] })
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    revoked.add(claims.jti)
    expect((await fixture.write({ domain: 'tea', value: 'No sugar.' })).subscribers).toBe(0)
    await expect.poll(() => reader.hasEnded).toBe(true)
    expect(reader.messages.slice(1)).toEqual([result('L1')])
    expect(fixture.events).toContainEqual({ kind: 'stream-ended', reason: 'token-revoked' })
  })

  it('in order when the service stops', async () => {
    const reader = await open(USER, { resourceSubscriptions: [TEA] })
    await fixture.restart()
    await expect.poll(() => reader.hasEnded).toBe(true)
    expect(reader.messages.at(-1)).toEqual(result('L1'))
  })

  it('when its client leaves: nothing is left behind', async () => {
    const reader = await open(USER, { resourceSubscriptions: [TEA] })
    expect(fixture.endpoint.figures()).toMatchObject({ streams: 1, subscriptions: 1 })
    reader.drop()
    await expect
      .poll(() => fixture.endpoint.figures())
      .toMatchObject({ streams: 0, subscriptions: 0 })
    expect((await fixture.write({ domain: 'tea', value: 'No sugar.' })).subscribers).toBe(0)
  })

  it('is refused as JSON, before any stream, by a token that is none', async () => {
    const body = modernBody('subscriptions/listen', { notifications: {} })
    expect((await post('none', body, modernHeaders('subscriptions/listen'))).status).toBe(401)
  })
})

/** A listen whose reader takes nothing before `take` is called. */
const stalled = (limits: Partial<McpLimits>) => {
  const ends: StreamEnd[] = []
  const heard: string[] = []
  const clock = manualClock(0)
  const taking: (() => void)[] = []
  const response = new Writable({
    highWaterMark: 1,
    write: (_chunk, _encoding, done) => void taking.push(done),
  })
  const listens = createListens({
    rows: { add: async () => true, remove: () => undefined, countElsewhere: async () => 0 },
    clock,
    limits: { ...DEFAULT_MCP_LIMITS, ...limits },
    isRevoked: () => false,
    lastResult: (meta) => meta,
    onUpdate: (uri) => heard.push(uri),
    follower: { join: () => undefined, leave: () => undefined, wake: () => undefined },
    place: () => 0,
    onEnd: (reason) => ends.push(reason),
  })
  listens.open({
    row: 'row',
    id: 1,
    claims: { sub: 'host', scopes: [USER], expiresAtSeconds: 1_000_000 },
    granted: { wantsList: false, uris: new Map([[TEA, [TEA]]]) },
    response: response as unknown as ServerResponse,
  })
  const take = async (): Promise<void> => {
    for (let done = taking.shift(); done !== undefined; done = taking.shift()) {
      done()
      await new Promise<void>((resolve) => void setImmediate(resolve))
    }
  }
  return { clock, ends, heard, listens, response, take }
}

describe('a reader that accepts nothing', () => {
  const slot = { patient: 'ann', domain: 'tea', audience: 'user' } as const
  const at = { user: 1, assistant: 0 }
  const happening = new Happening({
    slot,
    at,
    first: 0,
    version: 2,
    changesList: false,
    serviceName: 'care',
  })
  it('is cut at a bounded number of frames, and of bytes; nothing of it was heard', () => {
    for (const limits of [{ lagFramesMax: 3 }, { lagBytesMax: 400 }]) {
      const { clock, ends, heard, listens, response } = stalled(limits)
      for (let count = 0; count < 4 && ends.length === 0; count += 1) listens.tell(happening)
      clock.advanceMs(5_000)
      expect([ends, heard, response.destroyed, listens.count()]).toEqual([['slow'], [], true, 0])
    }
  })

  it('is cut after a while, however little waits for it', () => {
    const { clock, ends } = stalled({ stallMs: 30_000 })
    clock.advanceMs(30_000)
    expect(ends).toEqual([])
    clock.advanceMs(20_000)
    expect(ends).toEqual(['slow'])
    clock.advanceMs(5_000)
    expect(clock.pendingCount()).toBe(0)
  })

  it('has heard what waited once it takes it', async () => {
    const { ends, heard, listens, take } = stalled({})
    listens.tell(happening)
    expect(heard).toEqual([])
    await take()
    expect([heard, ends]).toEqual([[TEA], []])
    listens.endAll('shutdown')
  })
})
