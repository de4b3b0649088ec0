// What survives a restart of the process (C5).
import { afterEach, describe, expect, it } from 'vitest'
import { BOTH, type McpFixture, startMcp, USER } from './mcp.fixture.ts'

const TEA = 'care://ann/tea'
const PLAN = 'care-internal://ann/plan'

describe('C5: a restart', () => {
  let fixture: McpFixture
  afterEach(async () => {
    await fixture.close()
  })

  it('session, subscriptions, log level and frames survive', async () => {
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
      // The one about the internal record is not counted (C30).
      framesHeld: 1,
    })
    // The client notices nothing: it resumes where it was, without a new initialize.
    const resumed = await session.stream(stream.lastEventId)
    await expect.poll(() => resumed.updated).toEqual([PLAN])
    expect((await fixture.write({ domain: 'tea' })).subscribers).toBe(1)
    await expect.poll(() => resumed.methods).toHaveLength(2)
    expect(resumed.events.map(({ id }) => id?.split('-').at(-1))).toEqual(['1', '2', '3'])
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
    expect(again.events.map(({ id }) => id?.split('-').at(-1))).toEqual(['2', '3', '4'])
    again.drop()
  })

  it('ended sessions stay ended, and frames for their numbers go to nobody', async () => {
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

  it('a version durable before a kill, without its frames, is announced at start', async () => {
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

  it.each<[string, (fixture: McpFixture) => Promise<void>]>([
    [
      'after a free that followers heard of',
      (over) =>
        over.endpoint.freed([{ patient: 'ann', domain: 'tea', audience: 'user', freed: 1 }]),
    ],
    [
      'after a free that nobody heard of, of a longer chain',
      async ({ sessions }) => sessions.save([{ kind: 'published', uri: TEA, version: 3 }]),
    ],
  ])(
    'C47: the first version of a freed topic, durable before a kill, is announced at start: %s',
    async (_when, free) => {
      fixture = await startMcp()
      await fixture.write({ domain: 'tea' })
      const session = await fixture.open(BOTH)
      await session.subscribe(TEA)
      await free(fixture)
      const before = await session.stream()
      await session.call('ping')
      before.drop()
      await expect.poll(() => fixture.endpoint.figures().streams).toBe(0)
      await fixture.restart()
      const stream = await session.stream(before.lastEventId)
      await expect.poll(() => stream.methods).toContain('notifications/message')
      expect(stream.updated).toEqual([TEA])
      stream.drop()
    },
  )
})
