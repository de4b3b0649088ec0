import { type Clock, manualClock, systemClock } from '@tallystick/service-kit'
import fastify from 'fastify'
import { afterEach, describe, expect, test } from 'vitest'
import { createOddsApiFeed, OddsFeedUnavailable } from './odds-api-feed.ts'

const KEY = 'hunter2'
/** Of nobody who ends the poller. */
const { signal } = new AbortController()
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function makeFeed(
  answer: { status?: number; body?: string; location?: string; hangs?: true },
  clock: Clock = systemClock,
) {
  const app = fastify({ forceCloseConnections: true })
  const seen: string[] = []
  app.get('/*', async (request, reply) => {
    seen.push(request.url)
    if (answer.hangs) return new Promise(() => undefined)
    if (answer.location !== undefined) void reply.header('location', answer.location)
    return reply.code(answer.status ?? 200).send(answer.body ?? '[]')
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  closing.push(() => app.close())
  const address = app.server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  const feed = createOddsApiFeed({
    url,
    apiKey: KEY,
    sport: 'soccer_epl',
    regions: ['eu', 'uk'],
    markets: ['h2h', 'totals'],
    clock,
  })
  return { feed, seen, close: () => app.close() }
}

/** A feed whose answers are made here, by a clock that stands. */
function countedFeed(answer: () => Response) {
  const clock = manualClock(1_780_000_000_000)
  let count = 0
  const feed = createOddsApiFeed({
    url: 'http://feed.test',
    apiKey: KEY,
    sport: 'soccer_epl',
    regions: ['eu'],
    markets: ['h2h'],
    clock,
    fetch: async () => {
      count += 1
      return answer()
    },
  })
  return { requests: () => count, clock, feed }
}

describe('The Odds API over HTTP', () => {
  test('asks for decimal odds and ISO times of one sport, and gives the bytes as they came', async () => {
    const { feed, seen } = await makeFeed({ body: '[ {"id": "é"} ]' })
    expect(Buffer.from(await feed.fetchOdds(signal)).toString()).toBe('[ {"id": "é"} ]')
    const url = new URL(seen[0] ?? '', 'http://x')
    expect(url.pathname).toBe('/v4/sports/soccer_epl/odds')
    expect(Object.fromEntries(url.searchParams)).toEqual({
      apiKey: KEY,
      regions: 'eu,uk',
      markets: 'h2h,totals',
      oddsFormat: 'decimal',
      dateFormat: 'iso',
    })
  })

  test.each([
    { row: 'another status', answer: { status: 429, body: `bad key ${KEY}` }, says: '429' },
    { row: 'a redirect', answer: { status: 302, location: 'http://x/' }, says: 'TypeError' },
    { row: 'an endless body', answer: { body: 'x'.repeat(33_554_433) }, says: 'too much' },
  ])('$row is OddsFeedUnavailable, without the key', async ({ answer, says }) => {
    const { feed } = await makeFeed(answer)
    const error = await feed.fetchOdds(signal).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(OddsFeedUnavailable)
    expect(String(error)).toContain(says)
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain(KEY)
  })

  test('one that does not answer is given up after 20 s, and leaves no timer', async () => {
    const clock = manualClock(0)
    const { feed, seen } = await makeFeed({ hangs: true }, clock)
    const answer = feed.fetchOdds(signal).catch((thrown: unknown) => thrown)
    await expect.poll(() => seen.length).toBe(1)
    clock.advanceMs(20_000)
    expect(String(await answer)).toContain('AbortError')
    expect(clock.pendingCount()).toBe(0)
  })

  test('at the signal to stop it is waited for no longer', async () => {
    const clock = manualClock(0)
    const { feed, seen } = await makeFeed({ hangs: true }, clock)
    const stopping = new AbortController()
    const answer = feed.fetchOdds(stopping.signal).catch((thrown: unknown) => thrown)
    await expect.poll(() => seen.length).toBe(1)
    stopping.abort()
    expect(await answer).toBeInstanceOf(OddsFeedUnavailable)
    expect(clock.pendingCount()).toBe(0)
  })

  test('after a failure it is not asked for a minute, then two, then four, at most an hour', async () => {
    const { clock, feed, requests } = countedFeed(() => new Response('', { status: 500 }))
    for (const minutes of [1, 2, 4, 8, 16, 32, 60, 60]) {
      await expect(feed.fetchOdds(signal)).rejects.toThrow('500')
      clock.advanceMs(minutes * 60_000 - 1)
      await expect(feed.fetchOdds(signal)).rejects.toThrow('asked again in 1 s')
      clock.advanceMs(1)
    }
    expect(requests()).toBe(8)
  })

  test('a Retry-After is kept to; a spent quota is left alone for an hour; an answer ends the pauses', async () => {
    const answers = [
      new Response('', { status: 429, headers: { 'retry-after': '600' } }),
      new Response('[]', { headers: { 'x-requests-remaining': '0' } }),
      new Response('[]', { headers: { 'x-requests-remaining': '480' } }),
      new Response('[]'),
    ]
    const { clock, feed, requests } = countedFeed(
      () => answers.shift() ?? new Response('', { status: 500 }),
    )
    await expect(feed.fetchOdds(signal)).rejects.toThrow('429')
    clock.advanceMs(599_000)
    await expect(feed.fetchOdds(signal)).rejects.toThrow(OddsFeedUnavailable)
    clock.advanceMs(1_000)
    await feed.fetchOdds(signal)
    clock.advanceMs(3_599_000)
    await expect(feed.fetchOdds(signal)).rejects.toThrow('asked again in 1 s')
    clock.advanceMs(1_000)
    await feed.fetchOdds(signal)
    await feed.fetchOdds(signal)
    expect(requests()).toBe(4)
  })

  test('one that is gone', async () => {
    const { close, feed } = await makeFeed({})
    await close()
    await expect(feed.fetchOdds(signal)).rejects.toThrow(OddsFeedUnavailable)
  })
})
