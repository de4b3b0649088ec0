import { manualClock } from '@tallystick/service-kit'
import { describe, expect, test } from 'vitest'
import { isoText } from '../domain/iso-time.ts'
import { createMemoryGradingStore } from '../testing/memory-grading-store.ts'
import {
  START_SECONDS,
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePrices,
} from '../testing/sample-events.ts'
import { pollOdds } from './odds-poller.ts'
import { CLOCK_SKEW_SECONDS_MAX, CLOSE_AGE_SECONDS_MAX } from './refuse-time.ts'
import { normaliseOddsApi } from './the-odds-api.ts'

/** Of nobody who ends the poller. */
const { signal } = new AbortController()

const at = (secondsBeforeStart: number): string => isoText(START_SECONDS - secondsBeforeStart)
const bytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

type Made = {
  readonly updated: number
  readonly home?: number
  readonly start?: number
  readonly markets?: readonly object[]
  readonly id?: string
}

/** An event in the API's form; prices were last seen so many seconds before the start. */
const eventOf = ({ updated, home = 2.05, start = START_SECONDS, markets, id }: Made) => ({
  id: id ?? 'e912304de2b2ce35b473ce2ecd3d1502',
  sport_key: 'soccer_epl',
  sport_title: 'EPL',
  commence_time: isoText(start),
  home_team: 'Arsenal',
  away_team: 'Chelsea',
  bookmakers: [
    {
      key: 'pinnacle',
      title: 'Pinnacle',
      last_update: at(updated),
      markets: markets ?? [
        {
          key: 'h2h',
          last_update: at(updated),
          outcomes: [
            { name: 'Arsenal', price: home },
            { name: 'Chelsea', price: 3.9 },
            { name: 'Draw', price: 3.55 },
          ],
        },
      ],
    },
  ],
})

const live = (receivedBefore: number) =>
  ({ receivedAtSeconds: START_SECONDS - receivedBefore, stage: 'provisional' }) as const

const PATH = 'soccer/epl.20260601.arsenal-chelsea'

const wrap = (data: unknown) =>
  bytes({ timestamp: at(300), previous_timestamp: at(600), next_timestamp: at(0), data })

/** A payload whose prices are stamped so many seconds after it was received. */
const readAhead = (ahead: number) =>
  normaliseOddsApi(bytes([eventOf({ updated: 600 - ahead })]), live(600))

describe('normalise', () => {
  test('the live form: snapshot and provisional close, with the time the feed saw the price', () => {
    const { observations, refusals } = normaliseOddsApi(
      bytes([eventOf({ updated: 600 })]),
      live(590),
    )
    expect(refusals).toEqual([])
    expect(observations).toMatchObject([
      {
        event: {
          path: PATH,
          league: 'EPL',
          startAtSeconds: START_SECONDS,
          startPrecision: 'second',
        },
        rule: 'last_before_start',
        closeStatus: 'provisional',
        closes: [
          {
            market: '1x2/ft',
            book: 'pinnacle',
            odds: { home: '2.05', draw: '3.55', away: '3.9' },
            capturedAtSeconds: START_SECONDS - 600,
          },
        ],
      },
    ])
    expect(observations[0]?.snapshots).toEqual(observations[0]?.closes)
  })

  test('the history form takes its own timestamp, also around a single event', () => {
    const final = { receivedAtSeconds: START_SECONDS + 999_999, stage: 'final' } as const
    for (const data of [[eventOf({ updated: 310 })], eventOf({ updated: 310 })])
      expect(normaliseOddsApi(wrap(data), final).observations).toMatchObject([
        { closeStatus: 'final', snapshots: [], closes: [{ market: '1x2/ft' }] },
      ])
  })

  test('spreads and totals: lines from the home and over side, alternative lines beside them', () => {
    const markets = [
      {
        key: 'spreads',
        outcomes: [
          { name: 'Arsenal', price: 1.95, point: -0.75 },
          { name: 'Chelsea', price: 1.95, point: 0.75 },
        ],
      },
      {
        key: 'alternate_totals',
        outcomes: [
          { name: 'Over', price: 1.9, point: 2.5 },
          { name: 'Under', price: 2, point: 2.5 },
          { name: 'Over', price: 3, point: 3.5 },
          { name: 'Under', price: 1.4, point: 3.5 },
        ],
      },
      { key: 'totals', outcomes: [{ name: 'Over', price: 1.9, point: 2.55 }] },
      { key: 'player_goal_scorer', outcomes: [] },
    ]
    const { observations, refusals } = normaliseOddsApi(
      bytes([eventOf({ updated: 600, markets })]),
      live(590),
    )
    expect(observations[0]?.closes.map(({ market }) => market)).toEqual([
      'ah/ft/-0.75',
      'total/ft/2.5',
      'total/ft/3.5',
    ])
    expect(refusals.map(({ reason }) => reason)).toEqual(['unknown_market', 'unknown_market'])
  })

  test('off the board is missing, not a price', () => {
    const markets = [
      {
        key: 'h2h',
        outcomes: [
          { name: 'Arsenal', price: 0.0001 },
          { name: 'Chelsea', price: 3.9 },
          { name: 'Draw', price: null },
        ],
      },
    ]
    const { observations, missingPrices } = normaliseOddsApi(
      bytes([eventOf({ updated: 600, markets })]),
      live(590),
    )
    expect(observations[0]?.closes[0]?.odds).toEqual({ away: '3.9' })
    expect(missingPrices).toBe(2)
  })

  test.each([
    {
      name: 'stamped after the start',
      updated: -1,
      received: -10,
      reason: 'in_play_price',
      detail: '1 s after the start',
    },
    {
      name: 'received after the start',
      updated: 60,
      received: -10,
      reason: 'in_play_price',
      detail: '10 s after the start',
    },
  ])(
    'in-play prices are refused with the reason: $name',
    ({ updated, received, reason, detail }) => {
      const { observations, refusals } = normaliseOddsApi(
        bytes([eventOf({ updated })]),
        live(received),
      )
      expect(observations).toEqual([])
      expect(refusals).toEqual([{ reason, detail, place: '[0].bookmakers[0].markets[0]' }])
    },
  )

  test('a price of a time to come, beyond the skew of clocks, is refused with the reason', () => {
    expect(readAhead(CLOCK_SKEW_SECONDS_MAX).refusals).toEqual([])
    expect(readAhead(CLOCK_SKEW_SECONDS_MAX + 1)).toMatchObject({
      observations: [],
      refusals: [{ reason: 'future_price', detail: '61 s after it was received' }],
    })
  })

  test('the main line among the further ones is one price', () => {
    const outcomes = [
      { name: 'Arsenal', price: 1.95, point: -0.75 },
      { name: 'Chelsea', price: 1.95, point: 0.75 },
    ]
    const markets = [
      { key: 'alternate_spreads', outcomes },
      { key: 'spreads', outcomes },
    ]
    const { observations } = normaliseOddsApi(
      bytes([eventOf({ updated: 600, markets })]),
      live(590),
    )
    expect(observations[0]?.closes).toHaveLength(1)
    expect(observations[0]?.closes[0]).not.toHaveProperty('isAlternative')
  })

  test('a price more than 15 minutes old is no close', () => {
    const final = { receivedAtSeconds: START_SECONDS, stage: 'final' } as const
    expect(
      normaliseOddsApi(bytes([eventOf({ updated: CLOSE_AGE_SECONDS_MAX })]), final).observations,
    ).toHaveLength(1)
    expect(
      normaliseOddsApi(bytes([eventOf({ updated: CLOSE_AGE_SECONDS_MAX + 1 })]), final),
    ).toMatchObject({
      observations: [],
      refusals: [{ reason: 'stale_price', detail: '901 s before the start' }],
    })
  })

  test.each(['', '{}', '{"message":"quota"}', 'null', '[1]', '[{"id":"x"}]', '\u0000'])(
    '%j is refused and never throws',
    (text) => {
      const { observations, refusals } = normaliseOddsApi(Buffer.from(text), live(60))
      expect(observations).toEqual([])
      expect(refusals[0]?.reason).toBe('malformed_row')
    },
  )
})

/** Polls at times before the start; each answer is what the feed says then. */
async function polled(rounds: readonly (Made & { readonly before: number })[]) {
  const store = createMemoryGradingStore()
  const clock = manualClock((START_SECONDS - 100_000) * 1_000)
  let last
  for (const round of rounds) {
    clock.advanceMs((START_SECONDS - round.before) * 1_000 - clock.unixMs())
    last = await pollOdds({
      store,
      clock,
      signal,
      feed: { fetchOdds: async () => bytes([eventOf(round)]) },
    })
  }
  const [state] = await store.events([PATH])
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
    expect(state?.snapshots.map(({ odds }) => odds['home'])).toEqual([2.2, 2.05])
    expect(await store.verify()).toMatchObject({ kind: 'intact' })
  })

  test('a feed that fails at the start does not keep the close from becoming final', async () => {
    const { store } = await polled([{ before: 300, updated: 310, home: 2.2 }])
    const clock = manualClock((START_SECONDS + 60) * 1_000)
    const down = { fetchOdds: () => Promise.reject(new Error('down')) }
    await expect(pollOdds({ store, clock, signal, feed: down })).rejects.toThrow('down')
    const [state] = await store.events([PATH])
    expect(state?.closes.map(({ status }) => status)).toEqual(['final'])
  })

  test('a last price that was too old makes no close, and the round says so', async () => {
    const { state, last } = await polled([
      { before: 7_200, updated: 7_210 },
      { before: -60, updated: -50 },
    ])
    expect(last).toMatchObject({ finalised: 0, stale: 1 })
    expect(state?.closes.map(({ status }) => status)).toEqual(['provisional'])
  })

  test('a match put off: the close is the last price before the start that it then has', async () => {
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

  test('spreads and alternate_spreads in payloads of their own do not replace each other; a moved line does', async () => {
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

  test('a match put off to another day stays one event where the feed’s id is the same, and its early prices are no close', async () => {
    const later = START_SECONDS + 86_400
    const { state, store, last } = await polled([
      { before: 300, updated: 310, home: 2.05 },
      { before: 200, updated: 200, home: 2.1, start: later },
      { before: -86_460, updated: -86_450, home: 9, start: later },
    ])
    expect(await store.counts()).toMatchObject({ events: 1 })
    expect(state?.info).toMatchObject({ path: PATH, startAtSeconds: later })
    expect(state?.closes.map(({ status }) => status)).toEqual(['provisional'])
    expect(last).toMatchObject({ finalised: 0, stale: 1 })
  })

  test.each([
    { name: 'in one payload', rounds: [[0, 1]] },
    { name: 'in payloads of their own, whichever comes first', rounds: [[1], [0], [1, 0]] },
  ])('two matches of one pair on one day are two events: $name', async ({ rounds }) => {
    const store = createMemoryGradingStore()
    const clock = manualClock((START_SECONDS - 3_600) * 1_000)
    for (const round of rounds) {
      clock.advanceMs(60_000)
      const games = round.map((game) =>
        eventOf({ updated: 3_600, id: `game ${game}`, start: START_SECONDS + game * 18_000 }),
      )
      await pollOdds({ store, clock, signal, feed: { fetchOdds: async () => bytes(games) } })
    }
    const infos = await store.searchEvents({ words: [], limit: 10 })
    expect(infos.map(({ path }) => path).toSorted()).toEqual([PATH, `${PATH}.2`])
    expect(new Map(infos.map(({ feedId, startAtSeconds }) => [feedId, startAtSeconds]))).toEqual(
      new Map([
        ['game 0', START_SECONDS],
        ['game 1', START_SECONDS + 18_000],
      ]),
    )
  })

  test('an event that another source made is the feed’s too, unless its start is hours away', async () => {
    for (const [hours, events] of [
      [1, 1],
      [5, 2],
    ] as const) {
      const store = createMemoryGradingStore()
      const startAtSeconds = START_SECONDS + hours * 3_600
      await store.ingest(
        sampleBatch([
          sampleObservation({
            event: sampleEvent({ path: PATH, startAtSeconds }),
            closes: [samplePrices()],
          }),
        ]),
      )
      const clock = manualClock((START_SECONDS - 300) * 1_000)
      const feed = { fetchOdds: async () => bytes([eventOf({ updated: 310 })]) }
      await pollOdds({ store, clock, signal, feed })
      expect(await store.counts()).toMatchObject({ events })
    }
  })

  test('unchanged prices hours before the start are no entries', async () => {
    const { store } = await polled([
      { before: 9_000, updated: 9_000 },
      { before: 8_000, updated: 8_000 },
      { before: 7_000, updated: 7_000 },
    ])
    expect((await store.head()).size).toBe(2)
  })
})
