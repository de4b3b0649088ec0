import { describe, expect, test } from 'vitest'
import { createGraderWorld } from '../testing/grader-world.ts'
import { createMemoryGradingStore } from '../testing/memory-grading-store.ts'
import { samplePick } from '../testing/sample-picks.ts'
import { manualUploadSchema, normaliseManualUpload } from './manual-upload.ts'
import { readPayload } from './read-payload.ts'

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

const normalise = (over: object, top: object = {}) =>
  normaliseManualUpload(manualUploadSchema.parse({ ...top, events: [{ ...event, ...over }] }))

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

describe('manual upload', () => {
  test('closes, early prices and results go in together', () => {
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
      name: 'a market that may be several',
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
      name: 'prices of no one market',
      change: { odds: { home: 1.1, draw: 1.2, away: 1.3 } },
      reason: 'booksum_out_of_range',
    },
  ])('$name is refused with the reason, by itself', ({ change, reason }) => {
    const { observations, refusals } = normalise({
      closes: [
        { ...prices, ...change },
        { ...prices, book: 'other' },
      ],
    })
    expect(refusals).toMatchObject([{ reason, place: 'events[0].closes[0]' }])
    expect(observations[0]?.closes.map(({ book }) => book)).toEqual(['other'])
  })

  test('an outright is de-vigged only where the whole field is listed; a dead heat settles by its share', async () => {
    for (const isWhole of [true, false]) {
      const { grader, store } = createGraderWorld(createMemoryGradingStore())
      const { feed, observations } = outright(isWhole)
      await store.ingest({ feed, observations, receivedAtSeconds: 1, rawSha256: '00' })
      const card = await grader.grade(
        samplePick({ market: 'golf/masters.2026/outright/ft', selection: 'ada', odds: '2.2' }),
      )
      expect(card).toMatchObject({
        basis: isWhole ? 'fair' : 'price',
        scoreboard: { status: 'dead_heat', return_units: 0.10000000000000009 },
      })
    }
  })

  test('forms are told apart by content', () => {
    const reading = { receivedAtSeconds: 1, stage: 'provisional' } as const
    const formOf = (text: string) => {
      const read = readPayload(Buffer.from(text), reading)
      return read.kind === 'payload' ? read.form : read.problem
    }
    expect(formOf(JSON.stringify({ events: [event] }))).toBe('manual')
    expect(formOf('[]')).toBe('the-odds-api')
    expect(formOf('Div,Date,HomeTeam,AwayTeam,FTHG,FTAG\n')).toBe('football-data')
    expect(formOf('{"events":[{"event":"x"}]}')).toMatch(/^not an upload: events\.0\.event/)
    expect(formOf('hello')).toMatch(/neither JSON nor a CSV/)
  })
})
