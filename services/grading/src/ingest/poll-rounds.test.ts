import { describe, expect, test } from 'vitest'
import { createGraderFixture } from '../testing/grader.fixture.ts'
import { samplePick } from '../testing/samples.fixture.ts'
import { createPollRounds, type OddsFeed } from './odds-poller.ts'

const START = '2026-06-01T18:00:00Z'
const PAUSE_MS = 300_000

/** A payload of one match, priced at a moment. */
const payload = (price: number, at: string) =>
  Buffer.from(
    JSON.stringify([
      {
        id: 'x',
        sport_key: 'soccer_epl',
        commence_time: START,
        home_team: 'Arsenal',
        away_team: 'Chelsea',
        bookmakers: [
          {
            key: 'pinnacle',
            last_update: at,
            markets: [
              {
                key: 'h2h',
                last_update: at,
                outcomes: [
                  { name: 'Arsenal', price },
                  { name: 'Chelsea', price: 3.9 },
                  { name: 'Draw', price: 3.55 },
                ],
              },
            ],
          },
        ],
      },
    ]),
  )

function makeRounds(feeds: readonly OddsFeed[], mayPoll = async () => true) {
  const fixture = createGraderFixture()
  const failed: unknown[] = []
  let polled = 0
  const rounds = createPollRounds({
    store: fixture.store,
    mayPoll,
    feeds,
    clock: fixture.clock,
    pauseMs: PAUSE_MS,
    onPolled: () => {
      polled += 1
    },
    onFailed: (error) => failed.push(error),
  })
  return { ...fixture, rounds, failed, polled: () => polled }
}

describe('the poller’s rounds', () => {
  test('G8: the last price before the start becomes the close', async () => {
    const answers = [payload(2.12, '2026-06-01T17:50:00Z'), payload(2.05, '2026-06-01T17:55:00Z')]
    const feed = { fetchOdds: async () => answers.shift() ?? Buffer.from('[]') }
    const { clock, grader, polled, rounds } = makeRounds([feed])
    clock.advanceMs(86_400_000 - 600_000)
    rounds.start()
    await expect.poll(polled).toBe(1)
    expect(
      await grader.grade(samplePick({ market: 'soccer/epl.20260601.arsenal-chelsea/1x2/ft' })),
    ).toMatchObject({ reason: { code: 'close_not_final' } })
    await clock.advanceMsSettled(PAUSE_MS)
    await expect.poll(polled).toBe(2)
    await clock.advanceMsSettled(PAUSE_MS)
    await expect.poll(polled).toBe(3)
    expect(
      await grader.grade(samplePick({ market: 'soccer/epl.20260601.arsenal-chelsea/1x2/ft' })),
    ).toMatchObject({
      outcome: 'GRADED',
      close: { odds: 2.05, seconds_before_start: 300 },
    })
    await rounds.close()
    expect(clock.pendingCount()).toBe(0)
  })

  test('S6: closed while a feed hangs, they end at once, and that is not a failure', async () => {
    const requested: AbortSignal[] = []
    const hanging = {
      fetchOdds: (signal: AbortSignal) =>
        new Promise<never>((_resolve, reject) => {
          requested.push(signal)
          signal.addEventListener('abort', () => reject(new Error('gave up')))
        }),
    }
    const { clock, failed, rounds } = makeRounds([hanging, hanging])
    rounds.start()
    await expect.poll(() => requested.length).toBe(1)
    await rounds.close()
    expect([requested.length, failed, clock.pendingCount()]).toEqual([1, [], 0])
  })

  test('G12: of several processes the one with the place polls, asked before each request', async () => {
    const polls: string[] = []
    let holder = 'one'
    const makeFeed = (name: string) => ({
      fetchOdds: async () => {
        polls.push(name)
        holder = 'other'
        return Buffer.from('[]')
      },
    })
    const [left, right] = ['one', 'other'].map((name) =>
      makeRounds([makeFeed(name), makeFeed(name)], async () => holder === name),
    )
    left?.rounds.start()
    await expect.poll(() => polls).toEqual(['one'])
    right?.rounds.start()
    await expect.poll(() => polls).toEqual(['one', 'other', 'other'])
    await left?.clock.advanceMsSettled(PAUSE_MS)
    await left?.rounds.close()
    await right?.rounds.close()
    expect(polls).toEqual(['one', 'other', 'other'])
  })

  test('G12: a process that may not poll begins a second after it may, and keeps its own pause if its place goes and comes back', async () => {
    let isMine = false
    const feed = { fetchOdds: async () => Buffer.from('[]') }
    const { clock, polled, rounds } = makeRounds([feed], async () => isMine)
    rounds.start()
    await clock.advanceMsSettled(PAUSE_MS * 10)
    expect(polled()).toBe(0)
    isMine = true
    await clock.advanceMsSettled(1_000)
    await expect.poll(polled).toBe(1)
    isMine = false
    await clock.advanceMsSettled(PAUSE_MS / 2)
    isMine = true
    await clock.advanceMsSettled(PAUSE_MS / 4)
    expect(polled()).toBe(1)
    await clock.advanceMsSettled(PAUSE_MS / 4)
    await expect.poll(polled).toBe(2)
    await rounds.close()
    expect(clock.pendingCount()).toBe(0)
  })

  test('a failing sport loses one round, and no other sport does', async () => {
    let isDown = true
    const flaky = {
      fetchOdds: async () => {
        if (isDown) throw new Error('down')
        return Buffer.from('[]')
      },
    }
    const steady = { fetchOdds: async () => Buffer.from('[ ]') }
    const { clock, failed, polled, rounds } = makeRounds([flaky, steady])
    rounds.start()
    await expect.poll(polled).toBe(1)
    expect(failed).toHaveLength(1)
    isDown = false
    await clock.advanceMsSettled(PAUSE_MS)
    await expect.poll(polled).toBe(3)
    await rounds.close()
    await clock.advanceMsSettled(PAUSE_MS)
    expect(polled()).toBe(3)
  })
})
