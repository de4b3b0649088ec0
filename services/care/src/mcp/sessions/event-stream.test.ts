// The event stream: C3 and C4.
import { decodeJwt } from 'jose'
import { describe, expect, it, vi } from 'vitest'
import { BOTH, USER } from '../mcp.fixture.ts'
import { PLAN, TEA, useStreams } from './streams.fixture.ts'

/** What `retry` says while a stream stands: 11 s, and half of the 2 s of jitter (mcp.fixture.ts). */
const STANDING = 12_000

const suite = useStreams()
const { stream, tea, plan, ids } = suite

describe('C3: the stream', () => {
  it('is primed with an event id at once', async () => {
    const reader = await stream()
    await expect.poll(() => ids(reader)).toEqual([expect.stringMatching(/^[\w-]{22}$/)])
    expect(reader.retries).toEqual([STANDING])
    expect(reader.headers['content-type']).toBe('text/event-stream')
  })

  it('one logical GET stream per session; the newest GET wins', async () => {
    await suite.session.subscribe(TEA)
    const [first, second] = [await stream(), await stream()]
    await expect.poll(() => first.hasEnded).toBe(true)
    await tea('v2')
    await expect.poll(() => second.updated).toEqual([TEA])
    expect(first.updated).toEqual([])
    expect(suite.fixture.endpoint.figures().streams).toBe(1)
    // Soon, but two readers of one session must not keep replacing each other.
    expect(first.retries).toEqual([STANDING, 3_000])
  })

  it('a GET without Last-Event-ID first gets the frames that no stream of the session has carried', async () => {
    await suite.session.subscribe(TEA)
    await tea('v2')
    const first = await stream()
    await expect.poll(() => first.updated).toEqual([TEA])
    first.drop()
    await expect.poll(() => suite.fixture.endpoint.figures().streams).toBe(0)
    const second = await stream()
    await expect.poll(() => ids(second)).toEqual([first.lastEventId])
    second.drop()
    await expect.poll(() => suite.fixture.endpoint.figures().streams).toBe(0)
    await tea('v3')
    const third = await stream()
    await expect.poll(() => third.methods).toHaveLength(2)
    expect(ids(third)[0]).toBe(first.lastEventId)
    expect(third.messages[1]?.params).toMatchObject({ data: { version: 3 } })
  })

  it('keep-alive at least every 15 s', async () => {
    const reader = await stream()
    for (let round = 1; round <= 4; round += 1) {
      await suite.fixture.clock.advanceMsSettled(15_000)
      await expect.poll(() => reader.comments.length).toBeGreaterThanOrEqual(round)
    }
    expect(new Set(reader.comments)).toEqual(new Set(['keep-alive']))
  })

  it('what a commit added is read once, whatever the number of streams', async () => {
    const readers = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const session = await suite.fixture.open(BOTH)
        await session.subscribe(TEA)
        return stream(session)
      }),
    )
    const { store } = suite.fixture
    const read = vi.spyOn(store, 'revisions')
    await tea('v2')
    for (const reader of readers) await expect.poll(() => reader.methods).toHaveLength(2)
    expect(read).toHaveBeenCalledTimes(1)
  })
})

describe('C4', () => {
  it('an open stream ends when the token that opened it expires; the session lives on', async () => {
    suite.session.token = suite.fixture.token(BOTH, { lifetimeSeconds: 60 })
    await suite.session.subscribe(TEA)
    const reader = await stream()
    await suite.fixture.clock.advanceMsSettled(59_000)
    expect(suite.fixture.endpoint.figures().streams).toBe(1)
    await suite.fixture.clock.advanceMsSettled(2_000)
    await expect.poll(() => reader.hasEnded).toBe(true)
    expect(suite.fixture.endpoint.figures()).toMatchObject({ sessions: 1, streams: 0 })
    expect(reader.retries).toEqual([STANDING, 500])
  })

  it('nothing is sent on a stream after its token expires, even before the clock’s next tick', async () => {
    suite.session.token = suite.fixture.token(BOTH, { lifetimeSeconds: 60 })
    await suite.session.subscribe(TEA)
    const reader = await stream()
    await suite.fixture.clock.advanceMsSettled(59_999)
    await suite.fixture.clock.advanceMsSettled(1)
    await tea('v2')
    await expect.poll(() => reader.hasEnded).toBe(true)
    expect(reader.messages).toEqual([])
  })

  it('a session is told of all that its last scopes may see, its token expired or not', async () => {
    suite.session.token = suite.fixture.token(BOTH, { lifetimeSeconds: 60 })
    await suite.session.subscribe(TEA)
    const first = await stream()
    await expect.poll(() => first.lastEventId).toBeDefined()
    await suite.fixture.clock.advanceMsSettled(120_000)
    expect((await tea('v2')).subscribers).toBe(1)
    suite.session.token = suite.fixture.token(BOTH)
    const second = await stream(suite.session, first.lastEventId)
    await expect.poll(() => second.updated).toEqual([TEA])
  })

  it('subscribers counts only the subscribed', async () => {
    await suite.fixture.open(BOTH)
    const other = await suite.fixture.open(USER)
    expect((await tea('v2')).subscribers).toBe(0)
    await suite.session.subscribe(TEA)
    await suite.session.subscribe(`${TEA}/1`)
    await other.subscribe(TEA)
    expect((await tea('v3')).subscribers).toBe(2)
    await other.result('resources/unsubscribe', { uri: TEA })
    await other.result('resources/unsubscribe', { uri: TEA })
    expect((await tea('v4')).subscribers).toBe(1)
  })

  it('a session refreshed with fewer scopes loses the subscriptions they no longer cover', async () => {
    await suite.session.subscribe(PLAN)
    await suite.session.subscribe(TEA)
    suite.session.token = suite.fixture.token(USER)
    await suite.session.result('ping')
    expect((await plan('v2')).subscribers).toBe(0)
    expect((await tea('v2')).subscribers).toBe(1)
    suite.session.token = suite.fixture.token(BOTH)
    await suite.session.result('ping')
    expect((await plan('v3')).subscribers).toBe(0)
  })
})

describe('C48: a stream shows what its session and its own token may see', () => {
  const isRevoked = ({ jti }: { readonly jti?: string | undefined }): boolean => jti === revoked
  let revoked: string | undefined

  it('attack: a stream of a narrow token hears what a stronger one of its session may read, which was then revoked', async () => {
    await suite.start({ isRevoked })
    const session = await suite.fixture.open(USER)
    const narrow = await stream(session)
    await expect.poll(() => narrow.lastEventId).toBeDefined()
    session.token = suite.fixture.token(BOTH)
    await session.subscribe(PLAN)
    await session.subscribe(TEA)
    revoked = String(decodeJwt(session.token).jti)
    await plan('v2')
    await suite.fixture.write({ domain: 'new', audience: 'assistant' })
    await tea('v2')
    await expect.poll(() => narrow.updated).toEqual([TEA])
    expect(JSON.stringify(narrow.messages)).not.toMatch(/internal|list_changed/)
    expect(narrow.messages).toHaveLength(2)
  })
})

describe('when the application closes', () => {
  it('streams end with retry:, and closing is immediate', async () => {
    const reader = await stream()
    await suite.fixture.restart()
    await expect.poll(() => reader.hasEnded).toBe(true)
    expect(reader.retries).toEqual([STANDING, STANDING])
  })
})

describe('C36: two attempts of an official client', () => {
  it.each([
    [0, 11_000],
    [0.999_999, 12_999],
  ])('reach past 20 s of absence: with chance %d a standing stream says %d', async (chance, ms) => {
    await suite.start({ chance: () => chance })
    const reader = await stream()
    await expect.poll(() => reader.retries).toEqual([ms])
    expect(2 * ms).toBeGreaterThan(20_000)
  })
})
