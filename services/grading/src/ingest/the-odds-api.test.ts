import { describe, expect, test } from 'vitest'
import { at, bytes, FEED_PATH, makeEvent } from '../testing/odds-api.fixture.ts'
import { START_SECONDS } from '../testing/samples.fixture.ts'
import { CLOCK_SKEW_SECONDS_MAX, CLOSE_AGE_SECONDS_MAX } from './accept-price.ts'
import { normaliseOddsApi } from './the-odds-api.ts'

const live = (receivedBefore: number) =>
  ({ receivedAtSeconds: START_SECONDS - receivedBefore, stage: 'provisional' }) as const

const wrap = (data: unknown) =>
  bytes({ timestamp: at(300), previous_timestamp: at(600), next_timestamp: at(0), data })

/** A payload whose prices are stamped this many seconds after it was received. */
const readAhead = (ahead: number) =>
  normaliseOddsApi(bytes([makeEvent({ updated: 600 - ahead })]), live(600))

describe('normalise', () => {
  test('the live form: snapshot and provisional close, with the time the feed saw the price', () => {
    const { observations, refusals } = normaliseOddsApi(
      bytes([makeEvent({ updated: 600 })]),
      live(590),
    )
    expect(refusals).toEqual([])
    expect(observations).toMatchObject([
      {
        event: {
          path: FEED_PATH,
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

  test('the history form uses its own timestamp, even around a single event', () => {
    const final = { receivedAtSeconds: START_SECONDS + 999_999, stage: 'final' } as const
    for (const data of [[makeEvent({ updated: 310 })], makeEvent({ updated: 310 })])
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
      bytes([makeEvent({ updated: 600, markets })]),
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
      bytes([makeEvent({ updated: 600, markets })]),
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
        bytes([makeEvent({ updated })]),
        live(received),
      )
      expect(observations).toEqual([])
      expect(refusals).toEqual([{ reason, detail, place: '[0].bookmakers[0].markets[0]' }])
    },
  )

  test('a price from the future, beyond clock skew, is refused with the reason', () => {
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
      bytes([makeEvent({ updated: 600, markets })]),
      live(590),
    )
    expect(observations[0]?.closes).toHaveLength(1)
    expect(observations[0]?.closes[0]).not.toHaveProperty('isAlternative')
  })

  test('a price more than 15 minutes old is not a close', () => {
    const final = { receivedAtSeconds: START_SECONDS, stage: 'final' } as const
    expect(
      normaliseOddsApi(bytes([makeEvent({ updated: CLOSE_AGE_SECONDS_MAX })]), final).observations,
    ).toHaveLength(1)
    expect(
      normaliseOddsApi(bytes([makeEvent({ updated: CLOSE_AGE_SECONDS_MAX + 1 })]), final),
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
