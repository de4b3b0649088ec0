// What survives a restart of the process (C5).
import { afterEach, describe, expect, it } from 'vitest'
import { BOTH, type McpFixture, startMcp, USER } from '../mcp.fixture.ts'
import { DEFAULT_MCP_LIMITS } from './limits.ts'

const TEA = 'care://ann/tea'
const PLAN = 'care-internal://ann/plan'

describe('C5: a restart', () => {
  let fixture: McpFixture
  afterEach(async () => {
    await fixture.close()
  })

  it('session, position, subscriptions and log level survive', async () => {
    fixture = await startMcp()
    await fixture.write({ domain: 'tea' })
    await fixture.write({ domain: 'plan', audience: 'assistant' })
    const session = await fixture.open(BOTH)
    await session.subscribe(TEA)
    await session.subscribe(PLAN)
    await session.result('logging/setLevel', { level: 'error' })
    const stream = await session.stream()
    await fixture.write({ domain: 'tea' })
    await expect.poll(() => stream.updated).toEqual([TEA])
    stream.drop()
    await expect.poll(() => fixture.endpoint.figures().streams).toBe(0)
    await fixture.write({ domain: 'plan', audience: 'assistant' })
    await fixture.restart()
    expect(fixture.endpoint.figures()).toMatchObject({
      sessions: 1,
      subscriptions: 2,
    })
    // The client notices nothing: it resumes where it was, without a new initialize.
    const resumed = await session.stream(stream.lastEventId)
    await expect.poll(() => resumed.updated).toEqual([PLAN])
    expect((await fixture.write({ domain: 'tea' })).subscribers).toBe(1)
    await expect.poll(() => resumed.methods).toHaveLength(2)
    expect(resumed.events[0]?.id).toBe(stream.lastEventId)
    expect(resumed.updated).toEqual([PLAN, TEA])
    expect((await session.call('ping')).result).toEqual({})
    resumed.drop()
  })

  it('what a stream has carried survives: a GET without Last-Event-ID repeats nothing and misses nothing', async () => {
    fixture = await startMcp()
    await fixture.write({ domain: 'tea' })
    const session = await fixture.open(BOTH)
    await session.subscribe(TEA)
    const stream = await session.stream()
    await fixture.write({ domain: 'tea' })
    await expect.poll(() => stream.methods).toHaveLength(2)
    await fixture.restart()
    await fixture.write({ domain: 'tea' })
    const again = await session.stream()
    await expect.poll(() => again.methods).toHaveLength(2)
    expect(again.events[0]?.id).toBe(stream.lastEventId)
    expect(again.messages[1]?.params).toMatchObject({ data: { version: 3 } })
    again.drop()
  })

  it('C3: what a stream has carried is stored while it stands: a kill repeats no more than the last seconds', async () => {
    fixture = await startMcp()
    await fixture.write({ domain: 'tea' })
    const session = await fixture.open(BOTH)
    await session.subscribe(TEA)
    const stream = await session.stream()
    await fixture.write({ domain: 'tea' })
    await expect.poll(() => stream.methods).toHaveLength(2)
    const stored = async () => (await fixture.sessions.restore()).sessions[0]?.carried
    expect(await stored()).toMatchObject({ user: 1 })
    await fixture.clock.advanceMsSettled(DEFAULT_MCP_LIMITS.keepAliveMs)
    // What the next process finds, though this one never ended.
    expect(await stored()).toEqual({ user: 2, assistant: 0, frames: 0 })
    stream.drop()
  })

  it('ended sessions stay ended', async () => {
    fixture = await startMcp()
    await fixture.write({ domain: 'tea' })
    const [gone, stays] = [await fixture.open(BOTH), await fixture.open(USER)]
    for (const session of [gone, stays]) await session.subscribe(TEA)
    await fixture.write({ domain: 'tea' })
    await gone.end()
    await fixture.restart()
    expect((await gone.call('ping')).error?.code).toBe(-32001)
    const fresh = await fixture.open(BOTH)
    const stream = await fresh.stream()
    await fixture.write({ domain: 'tea' })
    await expect.poll(() => stream.methods).toEqual(['notifications/message'])
    stream.drop()
  })

  it('a version durable before a kill, of which nobody was told, is told once a stream opens', async () => {
    fixture = await startMcp()
    await fixture.write({ domain: 'tea' })
    const session = await fixture.open(BOTH)
    await session.subscribe(TEA)
    await fixture.store.append({
      patient: 'ann',
      domain: 'tea',
      audience: 'user',
      value: 'Two sugars.',
      authorId: 'dr-osei',
      authorLabel: 'Dr Osei',
    })
    await fixture.restart()
    const stream = await session.stream()
    await expect.poll(() => stream.updated).toEqual([TEA])
    stream.drop()
    await fixture.restart()
    const again = await session.stream(stream.lastEventId)
    await expect.poll(() => again.events).toHaveLength(1)
    expect(again.messages).toEqual([])
    again.drop()
  })
})
