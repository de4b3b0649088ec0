import { describe, expect, test } from 'vitest'
import { createGraderFixture, openMemoryStore } from '../testing/grader.fixture.ts'
import { START_SECONDS, samplePick } from '../testing/samples.fixture.ts'
import { wholeReading } from '../testing/whole-reading.fixture.ts'
import { uploadSchema } from '../wire/upload.ts'
import { CLOCK_SKEW_SECONDS_MAX } from './accept-price.ts'
import { readPayload } from './ingest-payload.ts'
import { normaliseManualUpload } from './manual-upload.ts'

const event = {
  event: 'soccer/epl.20260601.ars-che',
  league: 'EPL',
  home: 'Arsenal',
  away: 'Chelsea',
  starts_at: '2026-06-01T18:00:00Z',
}
const prices = {
  market: '1x2/ft',
  book: 'pinnacle',
  odds: { home: '2.05', draw: 3.55, away: '3.90' },
  captured_at: '2026-06-01T17:55:00Z',
}

/** A day after the match. */
const RECEIVED_SECONDS = START_SECONDS + 86_400

const normalise = (over: object, top: object = {}) =>
  normaliseManualUpload(
    uploadSchema.parse({ ...top, events: [{ ...event, ...over }] }),
    RECEIVED_SECONDS,
  )

const outright = (is_whole: boolean) =>
  normalise({
    event: 'golf/masters.2026',
    closes: [
      {
        market: 'outright/ft',
        book: 'exchange',
        is_whole,
        odds: { ada: 2, bob: 3, cid: 5.5 },
        captured_at: '2026-06-01T17:55:00Z',
      },
    ],
    outcomes: [
      {
        status: 'final',
        results: {
          'outright/ft': {
            ada: { result: 'dead_heat', places: 1, tied: 2 },
            bob: { result: 'lost' },
          },
        },
      },
    ],
  })

const deadHeat = (places: number, tied: number) => ({
  outcomes: [
    {
      status: 'final',
      results: { 'outright/ft': { ada: { result: 'dead_heat', places, tied } } },
    },
  ],
})

describe('manual upload', () => {
  test('a price from the future, beyond clock skew, is refused with the reason', () => {
    const upload = uploadSchema.parse({ events: [{ ...event, closes: [prices] }] })
    const capturedAtSeconds = START_SECONDS - 300
    const receivedAtSeconds = capturedAtSeconds - CLOCK_SKEW_SECONDS_MAX
    expect(normaliseManualUpload(upload, receivedAtSeconds).refusals).toEqual([])
    const { observations, refusals } = normaliseManualUpload(upload, receivedAtSeconds - 1)
    expect(observations[0]?.closes).toEqual([])
    expect(refusals).toEqual([
      {
        reason: 'future_price',
        place: 'events[0].closes[0]',
        detail: '61 s after it was received',
      },
    ])
  })

  test('closes, early prices and results are taken together', () => {
    const { observations, refusals, feed } = normalise({
      snapshots: [{ ...prices, captured_at: '2026-06-01T09:00:00Z' }],
      closes: [prices],
      outcomes: [{ status: 'final', score: { home: 2, away: 1 } }],
    })
    expect(refusals).toEqual([])
    expect(feed).toEqual({ feed: 'manual', isRedistributable: false, isSynthetic: false })
    expect(observations[0]).toMatchObject({
      rule: 'last_before_start',
      closes: [{ market: '1x2/ft', odds: { home: '2.05', draw: '3.55', away: '3.9' } }],
      outcomes: [{ period: 'ft', score: { home: 2, away: 1 } }],
    })
  })

  test.each([
    { name: 'in play', change: { captured_at: '2026-06-01T18:00:00Z' }, reason: 'in_play_price' },
    { name: 'stale', change: { captured_at: '2026-06-01T17:44:59Z' }, reason: 'stale_price' },
    { name: 'an unknown market', change: { market: 'corners/ft' }, reason: 'unknown_market' },
    {
      name: 'an ambiguous market',
      change: { market: 'moneyline/ft' },
      reason: 'unknown_market',
    },
    {
      name: 'a selection that the market does not have',
      change: { odds: { both: 2 } },
      reason: 'unknown_market',
    },
    {
      name: 'nothing but suspended prices',
      change: { odds: { home: 1, draw: 0, away: '-' } },
      reason: 'no_price',
    },
    {
      name: 'prices of no single market',
      change: { odds: { home: 1.1, draw: 1.2, away: 1.3 } },
      reason: 'booksum_out_of_range',
    },
  ])('$name is refused alone, with the reason', ({ change, reason }) => {
    const { observations, refusals } = normalise({
      closes: [
        { ...prices, ...change },
        { ...prices, book: 'other' },
      ],
    })
    expect(refusals).toMatchObject([{ reason, place: 'events[0].closes[0]' }])
    expect(observations[0]?.closes.map(({ book }) => book)).toEqual(['other'])
  })

  test('a selection by two names is refused, naming both, in prices and in results', () => {
    const { observations, refusals } = normalise({
      closes: [
        { ...prices, odds: { home: 2.05, draw: 3.55, away: 3.9, '1': 2.5 } },
        // Even if one of the two is not a price.
        { ...prices, odds: { Away: 0, away: 3.9 } },
      ],
      outcomes: [
        {
          status: 'final',
          results: { '1x2/ft': { home: { result: 'won' }, '1': { result: 'lost' } } },
        },
        {
          status: 'final',
          results: {
            '1x2/ft': { home: { result: 'won' } },
            '1X2/FT': { home: { result: 'lost' } },
          },
        },
      ],
    })
    expect(observations[0]).toMatchObject({ closes: [], outcomes: [] })
    expect(refusals.map(({ detail, place, reason }) => [reason, place, detail])).toEqual([
      ['malformed_row', 'events[0].closes[0]', '1x2/ft: 1 and home are one selection'],
      ['malformed_row', 'events[0].closes[1]', '1x2/ft: Away and away are one selection'],
      ['malformed_row', 'events[0].outcomes[0]', '1x2/ft: 1 and home are one selection'],
      ['malformed_row', 'events[0].outcomes[1]', 'results of 1x2/ft under two names'],
    ])
  })

  test('an outright’s margin is removed only if the whole field is listed; a dead heat settles by its share', async () => {
    for (const isWhole of [true, false]) {
      const { grader, store } = createGraderFixture(openMemoryStore())
      const { feed, observations } = outright(isWhole)
      await store.ingest({
        feed,
        observations,
        receivedAtSeconds: RECEIVED_SECONDS,
        rawSha256: '00',
      })
      const card = await grader.grade(
        samplePick({ market: 'golf/masters.2026/outright/ft', selection: 'ada', odds: '2.2' }),
      )
      expect(card).toMatchObject({
        basis: isWhole ? 'fair' : 'price',
        scoreboard: { status: 'dead_heat', return_units: 0.10000000000000009 },
      })
    }
  })

  test.each([
    { name: 'a feed’s name', top: { source: 'the-odds-api' }, over: {} },
    { name: 'a synthetic upload about a real event', top: { synthetic: true }, over: {} },
    {
      name: 'a real upload about a synthetic event',
      top: {},
      over: { event: 'soccer/synthetic-league.20260601.a-b' },
    },
    { name: 'a dead heat of one', top: {}, over: deadHeat(1, 1) },
    {
      name: 'an unknown period',
      top: {},
      over: { outcomes: [{ period: 'never', status: 'void' }] },
    },
  ])('$name is malformed', ({ top, over }) => {
    const upload = { ...top, events: [{ ...event, ...over }] }
    expect(uploadSchema.safeParse(upload).success).toBe(false)
  })

  test('results name market and selection as people write them; unknown ones are refused', () => {
    const results = (market: string, selection: string) =>
      normalise({
        outcomes: [{ status: 'final', results: { [market]: { [selection]: { result: 'won' } } } }],
      })
    expect(results('Match_Odds/FT', '1').observations[0]?.outcomes).toEqual([
      { period: 'ft', status: 'final', results: { '1x2/ft': { home: { result: 'won' } } } },
    ])
    for (const [market, selection] of [
      ['corners/ft', 'home'],
      ['1x2/ft', 'both'],
    ] as const)
      expect(results(market, selection)).toMatchObject({
        observations: [{ outcomes: [] }],
        refusals: [{ reason: 'malformed_row', place: 'events[0].outcomes[0]' }],
      })
    expect(normalise({ outcomes: [{ status: 'final' }] }).refusals).toHaveLength(1)
  })

  test('an upload that supersedes another names the entry it replaces, and both stay in the ledger', async () => {
    const store = openMemoryStore()
    const take = async (odds: object, score: object) => {
      const { feed, observations } = normalise({
        closes: [{ ...prices, odds }],
        outcomes: [{ status: 'final', score }],
      })
      return store.ingest({
        feed,
        observations,
        receivedAtSeconds: RECEIVED_SECONDS,
        rawSha256: '00',
      })
    }
    await take({ home: 2.05, draw: 3.55, away: 3.9 }, { home: 2, away: 1 })
    expect(await take({ home: 2.5, draw: 3.4, away: 2.9 }, { home: 0, away: 1 })).toMatchObject({
      superseded: 2,
    })
    expect((await store.entry(2))?.entry).toMatchObject({ type: 'close', supersedes: [0] })
    expect((await store.entry(3))?.entry).toMatchObject({ type: 'outcome', supersedes: [1] })
    expect((await store.entry(0))?.entry).toMatchObject({ prices: [{ odds: { home: '2.05' } }] })
    expect(await store.verify()).toMatchObject({ kind: 'intact', entries: 4 })
  })

  test('the same results with reordered members are not a correction', async () => {
    const store = openMemoryStore()
    for (const names of [
      ['ada', 'bob'],
      ['bob', 'ada'],
    ]) {
      const ended = Object.fromEntries(names.map((name) => [name, { result: 'lost' as const }]))
      const { feed, observations } = normalise({
        outcomes: [{ status: 'final', results: { 'outright/ft': ended } }],
      })
      await store.ingest({
        feed,
        observations,
        receivedAtSeconds: RECEIVED_SECONDS,
        rawSha256: '00',
      })
    }
    expect((await store.head()).size).toBe(1)
  })

  test('feeds are told apart by content', () => {
    const reading = { receivedAtSeconds: 1, stage: 'provisional' } as const
    const makeFeed = (text: string) => {
      const read = readPayload(Buffer.from(text), reading)
      return read.kind === 'payload' ? wholeReading(read.read()).feed.feed : read.problem
    }
    expect(makeFeed(JSON.stringify({ events: [event] }))).toBe('manual')
    expect(makeFeed('[]')).toBe('the-odds-api')
    expect(makeFeed('Div,Date,HomeTeam,AwayTeam,FTHG,FTAG\n')).toBe('football-data')
    expect(makeFeed('{"events":[{"event":"x"}]}')).toMatch(/^not an upload: events\.0\.event/)
    expect(makeFeed('hello')).toMatch(/neither JSON nor a CSV/)
  })
})
