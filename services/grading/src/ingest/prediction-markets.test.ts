import { isoText } from '@tallystick/service-kit/clock'
import { describe, expect, test } from 'vitest'
import { START_SECONDS } from '../testing/samples.fixture.ts'
import { readPayload } from './ingest-payload.ts'
import { normalisePredictionMarkets, readPredictionFile } from './prediction-markets.ts'

const event = {
  event: 'basketball/nba.20260601.lal-bos',
  league: 'NBA',
  home: 'Los Angeles Lakers',
  away: 'Boston Celtics',
  starts_at: isoText(START_SECONDS),
  market: 'ml/ft',
}
const RECEIVED = START_SECONDS + 86_400

const read = (exchange: string, histories: object, over: object = {}) => {
  const raw = Buffer.from(JSON.stringify({ exchange, events: [{ ...event, histories, ...over }] }))
  const file = readPredictionFile(JSON.parse(raw.toString()))
  if (file === undefined) throw new Error('this is no file of histories')
  return { raw, ...normalisePredictionMarkets(file, RECEIVED) }
}

const token = (...points: readonly (readonly [number, number])[]) => ({
  history: points.map(([before, p]) => ({ t: START_SECONDS - before, p })),
})

describe('G8: Polymarket', () => {
  test('the last price before the start is the close, whatever came after it', () => {
    const { feed, observations } = read('polymarket', {
      home: token([3_600, 0.4], [60, 0.5], [-60, 0.9]),
      away: token([3_600, 0.6], [120, 0.5]),
    })
    expect(feed).toEqual({ feed: 'polymarket', isRedistributable: false, isSynthetic: false })
    expect(observations[0]).toMatchObject({
      rule: 'last_before_start',
      closeStatus: 'final',
      closes: [
        {
          market: 'ml/ft',
          book: 'polymarket',
          odds: { home: '2', away: '2' },
          capturedAtSeconds: START_SECONDS - 120,
        },
      ],
    })
  })

  test.each([
    ['a price of 20 minutes before', token([1_200, 0.5]), 'stale_price'],
    ['only prices after the start', token([-5, 0.5]), 'no_price'],
    ['no price at all', { history: [] }, 'no_price'],
    ['a settled share', token([60, 1]), 'no_price'],
  ])('%s is no close', (_name, history, reason) => {
    const { observations, refusals } = read('polymarket', { home: history })
    expect([observations, refusals[0]?.reason]).toEqual([[], reason])
  })
})

const candle = (before: number, bid: number | null, ask: number | null) => ({
  end_period_ts: START_SECONDS - before,
  yes_bid: { close: bid },
  yes_ask: { close: ask },
  price: { close: null },
})

describe('Kalshi', () => {
  test('one history of a two-way market: what both sides cost, the margin between bid and ask with it', () => {
    const { observations } = read('kalshi', {
      home: { candlesticks: [candle(120, 39, 41), candle(60, 48, 50), candle(0, 90, 95)] },
    })
    expect(observations[0]?.closes[0]?.odds).toEqual({ home: '2', away: '1.923077' })
  })

  test('one history of a market of three says nothing of the other two', () => {
    const { observations } = read(
      'kalshi',
      { home: { candlesticks: [candle(60, 48, 50)] } },
      { event: 'soccer/epl.20260601.ars-che', market: '1x2/ft' },
    )
    expect(observations[0]?.closes[0]?.odds).toEqual({ home: '2' })
  })

  test('a period without offers is passed over; a market that is not known is refused', () => {
    const { observations } = read('kalshi', {
      home: { candlesticks: [candle(120, 48, 50), candle(60, null, null)] },
    })
    expect(observations[0]?.closes[0]?.capturedAtSeconds).toBe(START_SECONDS - 120)
    const { refusals } = read('kalshi', { home: { candlesticks: [] } }, { market: 'nonsense/ft' })
    expect(refusals[0]).toMatchObject({ reason: 'unknown_market', place: 'events[0]' })
  })
})

/** What one candle of a history closes at, or why it does not. */
const kalshiClose = (ask: object, bid: object, more: object = {}) => {
  const last = { end_period_ts: START_SECONDS - 60, yes_ask: ask, yes_bid: bid, ...more }
  const { observations, refusals } = read('kalshi', { home: { candlesticks: [last] } })
  return observations[0]?.closes[0]?.odds ?? refusals.map(({ detail }) => detail)
}

describe('G8: Kalshi’s prices in the unit that they are written in', () => {
  const both = { home: '1.785714', away: '1.851852' }

  test.each([
    [
      'dollars in a text, today’s answer',
      { open_dollars: '0.5500', close_dollars: '0.5600' },
      { close_dollars: '0.4600' },
    ],
    ['dollars in a text, of the archive', { close: '0.5600' }, { close: '0.46' }],
    [
      'cents beside dollars',
      { close: 56, close_dollars: '0.5600' },
      { close: 46, close_dollars: '0.4600' },
    ],
    ['cents', { close: 56 }, { close: 46 }],
    ['dollars by their name, as a number', { close_dollars: 0.56 }, { close_dollars: 0.46 }],
  ])('%s: 1 over 0.56', (_name, ask, bid) => {
    const fixedPoint = { volume_fp: '3.00', open_interest_fp: '10.00', price: { close: null } }
    expect(kalshiClose(ask, bid, fixedPoint)).toEqual(both)
  })

  test('tenths of a cent are read where dollars say them', () => {
    expect(kalshiClose({ close_dollars: '0.5625' }, { close_dollars: '0.5' })).toEqual({
      home: '1.777778',
      away: '2',
    })
  })

  test.each([
    ['dollars as numbers', 0.56, 0.54],
    ['a settled market in dollars as numbers', 1, 0.99],
    ['dollars among cents', 56, 0.54],
    ['an empty book', 1, 0],
  ])('%s are refused with what they look like, never read as cents', (_name, ask, bid) => {
    expect(kalshiClose({ close: ask }, { close: bid })).toEqual([
      expect.stringMatching(/^home: .*looks? like dollars.*cents/),
    ])
  })

  test('an empty side is no price', () => {
    expect(kalshiClose({ close_dollars: '1.0000' }, { close_dollars: '0.0000' })).toEqual([
      'no price between 0 and 1',
    ])
    expect(kalshiClose({ close_dollars: 'n/a' }, {})).toEqual(['home: no price before the start'])
  })
})

test('a file is known by its exchange and read as a payload', () => {
  const { raw } = read('polymarket', { home: token([60, 0.5]) })
  expect(readPayload(raw, { receivedAtSeconds: RECEIVED, stage: 'provisional' }).kind).toBe(
    'payload',
  )
  const other = Buffer.from('{"exchange":"nasdaq","events":[]}')
  expect(readPayload(other, { receivedAtSeconds: RECEIVED, stage: 'provisional' }).kind).toBe(
    'unreadable',
  )
})
