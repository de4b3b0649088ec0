import { manualClock } from '@tallystick/service-kit'
import { describe, expect, test } from 'vitest'
import { openMemoryStore } from '../testing/grader.fixture.ts'
import { bytes, FEED_PATH, type MadeEvent, makeEvent } from '../testing/odds-api.fixture.ts'
import {
  START_SECONDS,
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePrices,
} from '../testing/samples.fixture.ts'
import { pollOdds } from './odds-poller.ts'

/** A signal that never ends the poller. */
const { signal } = new AbortController()

/** Polls at times before the start; each answer is the feed's at that time. */
async function polled(rounds: readonly (MadeEvent & { readonly before: number })[]) {
  const store = openMemoryStore()
  const clock = manualClock((START_SECONDS - 100_000) * 1_000)
  let last
  for (const round of rounds) {
    clock.advanceMs((START_SECONDS - round.before) * 1_000 - clock.unixMs())
    last = await pollOdds({
      store,
      clock,
      signal,
      feed: { fetchOdds: async () => bytes([makeEvent(round)]) },
    })
  }
  const [state] = await store.events([FEED_PATH])
  return { state, store, last }
}

const spread = (key: string, point: number) => ({
  key,
  outcomes: [
    { name: 'Arsenal', price: 1.95, point },
    { name: 'Chelsea', price: 1.95, point: -point },
  ],
})

describe('poller', () => {
  test('the last price before the start becomes the final close', async () => {
    const { state, last, store } = await polled([
      { before: 7_200, updated: 7_210, home: 2.2 },
      { before: 300, updated: 310, home: 2.05 },
      { before: -60, updated: -50, home: 5 },
    ])
    expect(last).toMatchObject({ finalised: 1, stale: 0, account: { refused: 1 } })
    expect(state?.closes).toMatchObject([
      { status: 'final', odds: { home: 2.05 }, capturedAtSeconds: START_SECONDS - 310 },
    ])
    expect([...(state?.snapshots ?? [])].map(({ odds }) => odds['home'])).toEqual([2.2, 2.05])
    expect(await store.verify()).toMatchObject({ kind: 'intact' })
  })

  test('a feed that fails at the start does not stop the close from becoming final', async () => {
    const { store } = await polled([{ before: 300, updated: 310, home: 2.2 }])
    const clock = manualClock((START_SECONDS + 60) * 1_000)
    const down = { fetchOdds: () => Promise.reject(new Error('down')) }
    await expect(pollOdds({ store, clock, signal, feed: down })).rejects.toThrow('down')
    const [state] = await store.events([FEED_PATH])
    expect(state?.closes.map(({ status }) => status)).toEqual(['final'])
  })

  test('a last price that is too old makes no close, and the round says so', async () => {
    const { state, last } = await polled([
      { before: 7_200, updated: 7_210 },
      { before: -60, updated: -50 },
    ])
    expect(last).toMatchObject({ finalised: 0, stale: 1 })
    expect(state?.closes.map(({ status }) => status)).toEqual(['provisional'])
  })

  test('a postponed match: the close is the last price before its new start', async () => {
    const later = START_SECONDS + 3_600
    const { state } = await polled([
      { before: 300, updated: 310, home: 2.05 },
      { before: 200, updated: 210, home: 2.1, start: later },
      { before: -3_500, updated: -3_400, home: 2.4, start: later },
      { before: -3_700, updated: -3_650, home: 9, start: later },
    ])
    expect(state?.closes).toMatchObject([
      { status: 'final', odds: { home: 2.4 }, anchoredStartSeconds: later },
    ])
  })

  test('spreads and alternate_spreads in separate payloads do not replace each other; a moved line does', async () => {
    const { state } = await polled([
      { before: 500, updated: 510, markets: [spread('spreads', -0.5)] },
      { before: 400, updated: 410, markets: [spread('alternate_spreads', -1.5)] },
      { before: 300, updated: 310, markets: [spread('spreads', -0.75)] },
      { before: -60, updated: -50 },
    ])
    expect(state?.closes.map(({ market, status }) => `${market} ${status}`).toSorted()).toEqual([
      'ah/ft/-0.75 final',
      'ah/ft/-1.5 final',
    ])
  })

  test('a match postponed to another day stays one event if the feed’s id is the same, and its early prices are not a close', async () => {
    const later = START_SECONDS + 86_400
    const { state, store, last } = await polled([
      { before: 300, updated: 310, home: 2.05 },
      { before: 200, updated: 200, home: 2.1, start: later },
      { before: -86_460, updated: -86_450, home: 9, start: later },
    ])
    expect(await store.counts()).toMatchObject({ events: 1 })
    expect(state?.info).toMatchObject({ path: FEED_PATH, startAtSeconds: later })
    expect(state?.closes.map(({ status }) => status)).toEqual(['provisional'])
    expect(last).toMatchObject({ finalised: 0, stale: 1 })
  })

  test.each([
    { name: 'in one payload', rounds: [[0, 1]] },
    { name: 'in separate payloads, whichever comes first', rounds: [[1], [0], [1, 0]] },
  ])('two matches of one pair on one day are two events: $name', async ({ rounds }) => {
    const store = openMemoryStore()
    const clock = manualClock((START_SECONDS - 3_600) * 1_000)
    for (const round of rounds) {
      clock.advanceMs(60_000)
      const games = round.map((game) =>
        makeEvent({ updated: 3_600, id: `game ${game}`, start: START_SECONDS + game * 18_000 }),
      )
      await pollOdds({ store, clock, signal, feed: { fetchOdds: async () => bytes(games) } })
    }
    const infos = (await store.searchEvents({ words: [], limit: 10 })).map(({ info }) => info)
    expect(infos.map(({ path }) => path).toSorted()).toEqual([FEED_PATH, `${FEED_PATH}.2`])
    expect(new Map(infos.map(({ feedId, startAtSeconds }) => [feedId, startAtSeconds]))).toEqual(
      new Map([
        ['game 0', START_SECONDS],
        ['game 1', START_SECONDS + 18_000],
      ]),
    )
  })

  test('an event from another source is the feed’s too, unless the starts are hours apart', async () => {
    for (const [hours, events] of [
      [1, 1],
      [5, 2],
    ] as const) {
      const store = openMemoryStore()
      const startAtSeconds = START_SECONDS + hours * 3_600
      await store.ingest(
        sampleBatch([
          sampleObservation({
            event: sampleEvent({ path: FEED_PATH, startAtSeconds }),
            closes: [samplePrices()],
          }),
        ]),
      )
      const clock = manualClock((START_SECONDS - 300) * 1_000)
      const feed = { fetchOdds: async () => bytes([makeEvent({ updated: 310 })]) }
      await pollOdds({ store, clock, signal, feed })
      expect(await store.counts()).toMatchObject({ events })
    }
  })

  test('unchanged prices hours before the start add no entries', async () => {
    const { store } = await polled([
      { before: 9_000, updated: 9_000 },
      { before: 8_000, updated: 8_000 },
      { before: 7_000, updated: 7_000 },
    ])
    expect((await store.head()).size).toBe(2)
  })
})
