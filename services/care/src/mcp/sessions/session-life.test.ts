// Sessions from opening to end: limits, timeouts, restarts, and that nothing is left behind (C5).
import { manualClock } from '@tallystick/service-kit'
import { afterEach, describe, expect, it, test } from 'vitest'
import { openSessionStore } from '../../adapters/rows/session-commits.ts'
import { openSqliteSideRows } from '../../adapters/rows/side-rows.ts'
import { RecordStoreUnavailable } from '../../domain/record-store.ts'
import type { SessionStore } from '../../domain/session-store.ts'
import { BOTH, initializeBody, type McpFixture, START_MS, startMcp } from '../mcp.fixture.ts'
import { DEFAULT_MCP_LIMITS } from './limits.ts'

const TEA = 'care://ann/tea'
const NOTHING = { sessions: 0, streams: 0, subscriptions: 0 }
const isLong = process.env['TALLYSTICK_LONG'] === '1'

let fixture: McpFixture
afterEach(async () => {
  await fixture.close()
})

const openStatus = async (sub: string): Promise<number> => {
  const body = JSON.stringify(initializeBody())
  return (await fixture.request('POST', { token: fixture.token(BOTH, { sub }), body })).status
}
const emptyStore = async (store: SessionStore): Promise<void> => {
  await store.flush()
  expect(await store.restore()).toMatchObject({ sessions: [] })
}

describe('C5: caps', () => {
  it('per sub: the next session is 429, until one has ended', async () => {
    fixture = await startMcp({ limits: { sessionsPerSubMax: 2 } })
    const first = await fixture.open(BOTH)
    await fixture.open(BOTH)
    const body = JSON.stringify(initializeBody())
    const refused = await fixture.request('POST', { token: fixture.token(BOTH), body })
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('30')
    expect(refused.headers.get('mcp-session-id')).toBeNull()
    expect(refused.body).toMatchObject({ id: null, error: { code: -32000 } })
    expect(await openStatus('somebody-else')).toBe(200)
    await first.end()
    await fixture.open(BOTH)
  })

  it('in total: the next session is 429', async () => {
    fixture = await startMcp({ limits: { sessionsMax: 2 } })
    expect([await openStatus('a'), await openStatus('b'), await openStatus('c')]).toEqual([
      200, 200, 429,
    ])
  })

  it('subscriptions of a session are bounded', async () => {
    fixture = await startMcp({ limits: { subscriptionsPerSessionMax: 1 } })
    await fixture.write({ domain: 'tea' })
    await fixture.write({ domain: 'milk' })
    const session = await fixture.open(BOTH)
    expect((await session.subscribe(TEA)).result).toEqual({})
    expect((await session.subscribe(TEA)).result).toEqual({})
    expect((await session.subscribe('care://ann/milk')).error?.code).toBe(-32000)
  })
})

describe('C5: time to live', () => {
  it('an idle session ends, with everything that was its own', async () => {
    fixture = await startMcp()
    await fixture.write({ domain: 'tea' })
    const session = await fixture.open(BOTH, { lifetimeSeconds: 86_400 })
    await session.subscribe(TEA)
    await fixture.write({ domain: 'tea' })
    expect(fixture.endpoint.figures()).toMatchObject({
      sessions: 1,
      subscriptions: 1,
    })
    await fixture.clock.advanceMsSettled(DEFAULT_MCP_LIMITS.idleMs - 1)
    expect((await session.call('ping')).result).toEqual({})
    // Over PostgreSQL by what its row says late.
    await fixture.clock.advanceMsSettled(DEFAULT_MCP_LIMITS.idleMs + 60_000)
    expect((await session.call('ping')).error?.code).toBe(-32001)
    expect(fixture.endpoint.figures()).toMatchObject(NOTHING)
    await emptyStore(fixture.sessions)
  })

  it('an open stream keeps its session alive, but not beyond the absolute limit', async () => {
    fixture = await startMcp()
    const session = await fixture.open(BOTH, { lifetimeSeconds: 30 * 86_400 })
    const stream = await session.stream()
    await fixture.clock.advanceMsSettled(3 * DEFAULT_MCP_LIMITS.idleMs)
    expect(fixture.endpoint.figures()).toMatchObject({ sessions: 1, streams: 1 })
    await fixture.clock.advanceMsSettled(DEFAULT_MCP_LIMITS.absoluteMs)
    await expect.poll(() => stream.hasEnded).toBe(true)
    expect(fixture.endpoint.figures()).toMatchObject(NOTHING)
    expect(fixture.events.at(-1)).toMatchObject({ kind: 'session-ended', reason: 'too-old' })
  })
})

describe('a session that only listens', () => {
  it('is served however long it has been silent', async () => {
    fixture = await startMcp()
    await fixture.write({ domain: 'tea' })
    const session = await fixture.open(BOTH)
    await session.subscribe(TEA)
    const stream = await session.stream()
    for (let round = 0; round < 3; round += 1) {
      await fixture.clock.advanceMsSettled(180_000)
      await fixture.write({ domain: 'tea' })
      await expect.poll(() => stream.updated).toHaveLength(round + 1)
      expect((await session.call('resources/read', { uri: TEA })).result).toBeDefined()
    }
    stream.drop()
  })
})

describe('sessions share one server', () => {
  it('concurrent requests of several sessions under the same ids get their own answers', async () => {
    fixture = await startMcp()
    await fixture.write({ domain: 'tea' })
    const [left, right] = [await fixture.open(BOTH), await fixture.open(BOTH, { sub: 'other' })]
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => {
        const session = index % 2 === 0 ? left : right
        return fixture.request('POST', {
          token: session.token,
          headers: { 'mcp-session-id': session.id },
          body: JSON.stringify({
            jsonrpc: '2.0',
            // Both use each id at the same time.
            id: Math.floor(index / 2),
            method: index % 2 === 0 ? 'resources/read' : 'ping',
            params: { uri: TEA },
          }),
        })
      }),
    )
    for (const [index, { body }] of answers.entries()) {
      expect(body.id).toBe(Math.floor(index / 2))
      expect(Object.keys(body.result ?? {})).toEqual(index % 2 === 0 ? ['contents', '_meta'] : [])
    }
  })
})

describe('opened and abandoned sessions leave nothing', () => {
  it(`${isLong ? '100,000' : '300'} of them, some with subscriptions, frames and streams`, async () => {
    const total = isLong ? 100_000 : 300
    const wave = isLong ? 500 : 150
    fixture = await startMcp({ limits: { sessionsPerSubMax: wave } })
    await fixture.write({ domain: 'tea' })
    for (let opened = 0; opened < total; opened += wave) {
      const sessions = await Promise.all(
        Array.from({ length: wave }, () => fixture.open(BOTH, { lifetimeSeconds: 60 })),
      )
      const [first, second, third] = sessions
      await first?.subscribe(TEA)
      await second?.stream()
      await third?.end()
      await fixture.write({ domain: 'tea' })
      // Over PostgreSQL a session may end later by what its row says late.
      await fixture.clock.advanceMsSettled(DEFAULT_MCP_LIMITS.idleMs + 120_000)
      // A sweep whose commit took longer than the clock's jump is made up for by the next.
      const figures = async () => {
        await fixture.clock.advanceMsSettled(30_000)
        return fixture.endpoint.figures()
      }
      await expect.poll(figures).toMatchObject(NOTHING)
    }
    await emptyStore(fixture.sessions)
    // No sweep, no keep-alive: nothing runs without sessions.
    expect(fixture.clock.pendingCount()).toBe(0)
  })
})

describe('C5: an unwritable session file', () => {
  it('is reported; what a client asks of its session is refused whole, and sessions and streams that stand go on', async () => {
    const sessions = openSessionStore(openSqliteSideRows(':memory:'), {
      clock: manualClock(START_MS),
    })
    const commit = sessions.commit.bind(sessions)
    let isBroken = false
    const orBroken = async <Result>(run: () => Promise<Result>): Promise<Result> => {
      if (isBroken) throw new RecordStoreUnavailable('disk full')
      return run()
    }
    sessions.commit = (change) => orBroken(() => commit(change))
    fixture = await startMcp({ sessions })
    await fixture.write({ domain: 'tea' })
    await fixture.write({ domain: 'milk' })
    const session = await fixture.open(BOTH)
    await session.subscribe(TEA)
    isBroken = true
    expect((await session.subscribe('care://ann/milk')).error?.code).toBe(-32603)
    for (const [method, params] of [
      ['logging/setLevel', { level: 'emergency' }],
      ['resources/unsubscribe', { uri: TEA }],
    ] as const)
      expect((await session.call(method, params)).error?.code).toBe(-32603)
    expect(await openStatus('somebody-else')).toBe(500)
    expect((await session.end()).status).toBe(500)
    const stream = await session.stream()
    expect((await fixture.write({ domain: 'milk' })).subscribers).toBe(0)
    expect((await fixture.write({ domain: 'tea' })).subscribers).toBe(1)
    await expect.poll(() => stream.updated).toEqual([TEA])
    expect(stream.methods).toHaveLength(3)
    expect(fixture.events).toContainEqual({
      kind: 'session-store-failed',
      error: expect.any(RecordStoreUnavailable),
    })
    isBroken = false
    await session.subscribe('care://ann/milk')
    await fixture.restart()
    expect(fixture.endpoint.figures()).toMatchObject({ sessions: 1, subscriptions: 2 })
  })
})

test('S12: a bug in what a timer begins, the sweep or a look at other processes, is reported, and does not end the process', async () => {
  const sessions = openSessionStore(openSqliteSideRows(':memory:'), {
    clock: manualClock(START_MS),
  })
  const watches: (() => void)[] = []
  sessions.watch = (wake) => {
    watches.push(wake)
    return () => undefined
  }
  const [ofSweep, ofLook] = [new TypeError('of the sweep'), new TypeError('of a look')]
  sessions.sweep = () => Promise.reject(ofSweep)
  fixture = await startMcp({ sessions })
  const session = await fixture.open(BOTH)
  await fixture.clock.advanceMsSettled(30_000)
  await session.end()
  Object.defineProperty(sessions, 'isShared', { value: true })
  sessions.look = () => Promise.reject(ofLook)
  for (const wake of watches) wake()
  for (const error of [ofSweep, ofLook])
    await expect.poll(() => fixture.events).toContainEqual({ kind: 'request-failed', error })
})

test('C3: a stream without an event id begins behind what the one before it told until it was replaced', async () => {
  const sessions = openSessionStore(openSqliteSideRows(':memory:'), {
    clock: manualClock(START_MS),
  })
  const commit = sessions.commit.bind(sessions)
  const [taking, taken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isLate = false
  sessions.commit = async (change) => {
    if (isLate && change.kind === 'stream') {
      taking.resolve()
      await taken.promise
    }
    return commit(change)
  }
  fixture = await startMcp({ sessions })
  await fixture.write({ domain: 'tea' })
  const session = await fixture.open(BOTH)
  await session.subscribe(TEA)
  const before = await session.stream()
  isLate = true
  const opening = session.stream()
  await taking.promise
  await fixture.write({ domain: 'tea' })
  await expect.poll(() => before.updated).toEqual([TEA])
  taken.resolve()
  const stream = await opening
  await fixture.write({ domain: 'tea' })
  await expect.poll(() => stream.messages.at(-1)?.params).toMatchObject({ data: { version: 3 } })
  expect(stream.updated).toEqual([TEA])
  stream.drop()
})

describe('a clock that jumps back', () => {
  it('ends no session and no stream', async () => {
    fixture = await startMcp()
    const session = await fixture.open(BOTH)
    const stream = await session.stream()
    const aheadMs = fixture.clock.unixMs()
    Object.assign(fixture.clock, { unixMs: () => aheadMs - 3 * 86_400_000 })
    expect((await session.call('ping')).result).toEqual({})
    await fixture.write({ domain: 'tea' })
    await expect.poll(() => stream.methods).toHaveLength(2)
    const read = await session.result('resources/read', { uri: TEA })
    expect(JSON.stringify(read)).toContain('[changed 0d ago')
    stream.drop()
  })
})

describe('a cancelled request', () => {
  it('ends without an answer; an id is used once at a time', async () => {
    fixture = await startMcp()
    await fixture.write({ domain: 'tea' })
    const session = await fixture.open(BOTH)
    const pending = Promise.withResolvers<{ readonly kind: 'absent' }>()
    fixture.store.latest = () => pending.promise
    const post = (message: object) =>
      fixture.request('POST', {
        token: session.token,
        headers: { 'mcp-session-id': session.id },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      })
    const read = { method: 'resources/read', params: { uri: TEA } }
    const slow = post({ id: 'x', ...read })
    await expect.poll(async () => (await post({ id: 'x', method: 'ping' })).status).toBe(400)
    const params = { requestId: 'x' }
    const other = await fixture.open(BOTH, { sub: 'other' })
    const cancelled = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    const headers = { 'mcp-session-id': other.id }
    await fixture.request('POST', { token: other.token, headers, body: cancelled })
    // Another session's cancellation does not concern this session.
    expect((await post({ id: 'x', method: 'ping' })).status).toBe(400)
    expect((await post({ method: 'notifications/cancelled', params })).status).toBe(202)
    const outcome = await slow
    expect([outcome.status, outcome.text]).toEqual([202, ''])
    const ended = post({ id: 'y', ...read })
    await expect.poll(async () => (await post({ id: 'y', method: 'ping' })).status).toBe(400)
    await session.end()
    expect((await ended).status).toBe(202)
    pending.resolve({ kind: 'absent' })
  })
})
