/** Which match a row is on, from the file to the free look. All matches and prices are made up. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createHttpFixture, type HttpFixture, httpCalls } from '../testing/http.fixture.ts'
import type { PreviewAnswer } from '../wire/coverage.ts'

const NOW_MS = Date.parse('2026-07-20T00:00:00Z')

const minutesBefore = (time: string, minutes: number): string =>
  new Date(Date.parse(time) - minutes * 60_000).toISOString()

const event = (
  [sport, id, league]: readonly [string, string, string],
  [home, away]: readonly [string, string],
  starts_at: string,
) => ({
  event: `${sport}/${id}`,
  league,
  home,
  away,
  starts_at,
  closes: [
    {
      market: sport === 'soccer' ? '1x2/ft' : 'ml/ft',
      book: 'pinnacle',
      odds: sport === 'soccer' ? { home: 2.1, draw: 3.5, away: 3.6 } : { home: 1.9, away: 2 },
      captured_at: minutesBefore(starts_at, 5),
    },
    {
      market: sport === 'soccer' ? 'ah/ft/-0.5' : 'spread/ft/-1.5',
      book: 'pinnacle',
      odds: { home: 2.1, away: 1.8 },
      captured_at: minutesBefore(starts_at, 5),
    },
  ],
})

const SERIES = ['Seattle Mariners', 'Houston Astros'] as const
const UPLOAD = {
  events: [
    event(['soccer', 'epl.1', 'EPL'], ['Arsenal', 'Chelsea'], '2026-04-23T19:00:00Z'),
    event(
      ['american_football', 'nfl.1', 'NFL'],
      ['Tennessee Titans', 'Jacksonville Jaguars'],
      '2026-01-04T18:00:00Z',
    ),
    event(['baseball', 'mlb.1', 'MLB'], SERIES, '2026-07-07T02:10:00Z'),
    event(['baseball', 'mlb.2', 'MLB'], SERIES, '2026-07-08T02:10:00Z'),
  ],
}

let fixture: HttpFixture
const { post, upload } = httpCalls(() => fixture)

beforeAll(async () => {
  fixture = await createHttpFixture()
  fixture.clock.advanceMs(NOW_MS - fixture.clock.unixMs())
  const { refused } = (await upload(UPLOAD)).json()
  if (refused !== 0) throw new Error('a match of the test was refused')
})
afterAll(() => fixture.app.close())

/** Rows on a game of the series: by its start, and by when the bet was placed. */
const ofSeries = (start: string): string =>
  `${start},MLB,Seattle Mariners,Houston Astros,Moneyline,Seattle Mariners,1.9`
const placedAt = (time: string): string =>
  `b1,Novig,straight,SETTLED_LOSS,1.9,${time},Seattle Mariners Moneyline Houston Astros @ Seattle Mariners,Baseball,MLB`

/** The market that each row is graded on, or the code of why it is not. */
async function looked(csv: string): Promise<readonly string[]> {
  const answer: PreviewAnswer = (await post('/api/coverage', { csv })).json()
  return answer.rows.map(({ status, market, selection, cause }) =>
    status === 'gradable' ? `${market} ${selection}` : (cause?.code ?? status),
  )
}

test('G19: a league that is known to be another asks, and its own names, the sport and words of no league do not', async () => {
  const leagues = [
    'EPL',
    'Premier League',
    'England',
    'Soccer',
    '',
    'WSL',
    'FA Cup',
    'Premier League U21',
    'Championship',
    'Women',
  ]
  const rows = leagues.map(
    (league, index) => `2026-04-23,${league},Arsenal,Chelsea,1X2,Arsenal,2.1${index}`,
  )
  const read = await looked(`Date,League,Home,Away,Market,Selection,Odds\n${rows.join('\n')}`)
  const own = 'soccer/epl.1/1x2/ft home'
  expect(read).toEqual([
    own,
    own,
    own,
    own,
    own,
    ...Array.from({ length: 5 }, () => 'ambiguous_market'),
  ])
})

test('G19: a bet whose clock has no zone, and on UTC or the venue’s may be after the start, is asked about', async () => {
  const soccer = ['22-Apr-26 21:00', '23-Apr-26 18:59', '23-Apr-26 19:05', '24-Apr-26 08:00']
  const rows = soccer.map(
    (time) => `Football / Arsenal v Chelsea : Match Odds,Arsenal,Back,${time},2.1`,
  )
  const csv = `Market,Selection,Bid type,Bet placed,Avg. odds matched\n${rows.join('\n')}`
  const own = 'soccer/epl.1/1x2/ft home'
  const clocks = ['18:30', '19:05', '8:05 PM'].map(
    (time, index) => `2026-04-23,${time},Arsenal v Chelsea,Arsenal,2.${index}5`,
  )
  const placedAlone = await looked(`Date,Bet Time,Event,Selection,Odds\n${clocks.join('\n')}`)
  expect(placedAlone).toEqual([own, 'placed_clock_unclear', 'placed_clock_unclear'])
  expect(await looked(csv)).toEqual([own, own, 'placed_clock_unclear', 'placed_after_start'])
  // 13:30 in the east of the United States is 17:30 or 18:30 UTC.
  const us = ['2026-01-04 11:30', '2026-01-04 14:30', '2026-01-04 18:30'].map(
    (time) => `${time},NFL,Jacksonville Jaguars @ Tennessee Titans,Moneyline,Tennessee Titans,1.9`,
  )
  const placed = await looked(`Bet_Date_Time,sport,event,market,selection,odds\n${us.join('\n')}`)
  const unclear = 'placed_clock_unclear'
  expect(placed).toEqual(['american_football/nfl.1/ml/ft home', unclear, unclear])
  const {
    rows: [, , late],
  }: PreviewAnswer = (await post('/api/coverage', { csv })).json()
  const [option] = late?.cause?.options ?? []
  expect(option?.label).toBe('it was placed before the start')
  const again: PreviewAnswer = (await post('/api/coverage', { picks: [option?.send] })).json()
  expect(again.gradable).toBe(1)
})

test('G19: leagues that no table knows are named, since nothing compared them', async () => {
  const leagues = ['Kings of the North', 'EPL', 'Soccer', '', 'England - Premier Division 1']
  const rows = leagues.map(
    (league, index) => `2026-04-23,${league},Arsenal,Chelsea,1X2,Arsenal,2.1${index}`,
  )
  const csv = `Date,League,Home,Away,Market,Selection,Odds\n${rows.join('\n')}`
  const answer: PreviewAnswer = (await post('/api/coverage', { csv })).json()
  expect(answer.rows.map(({ findings = [] }) => findings.map(({ kind }) => kind))).toEqual([
    ['league'],
    [],
    [],
    [],
    ['league'],
  ])
  expect(answer.rows[0]?.findings?.[0]).toEqual({
    kind: 'league',
    stated: 'Kings of the North',
    message:
      'The ledger has this match in “EPL”; no table says whether “Kings of the North” is the same league.',
  })
})

test('G20: a US row with its away team first is turned to the match as it was played, if the backed team is named', async () => {
  const read = await looked(`date,sport,event,market,selection,odds
2026-01-04,NFL,Jacksonville Jaguars vs Tennessee Titans,Moneyline,Tennessee Titans,+105
2026-01-04,NFL,Jacksonville Jaguars - Tennessee Titans,Spread,Jaguars +1.5,1.85
2026-01-04,NFL,Jacksonville Jaguars vs Tennessee Titans,Moneyline,Home,1.92
2026-01-04,NFL,Tennessee Titans @ Jacksonville Jaguars,Moneyline,Tennessee Titans,1.93
2026-01-04,NFL,Jacksonville Jaguars @ Tennessee Titans,Moneyline,Tennessee Titans,1.94
2026-04-23,EPL,Chelsea vs Arsenal,1X2,Arsenal,2.12`)
  expect(read).toEqual([
    'american_football/nfl.1/ml/ft home',
    'american_football/nfl.1/spread/ft/-1.5 away',
    'ambiguous_market',
    'ambiguous_market',
    'american_football/nfl.1/ml/ft home',
    'ambiguous_market',
  ])
})

describe('G20: a game of a series is its own or a question, never its neighbour', () => {
  const header = 'event_start,sport,home,away,market,selection,odds'
  test.for([
    ['2026-07-08T02:10:00Z', 'baseball/mlb.2/ml/ft home'],
    ['2026-07-07T19:10:00-07:00', 'baseball/mlb.2/ml/ft home'],
    ['2026-07-07 19:10', 'baseball/mlb.2/ml/ft home'],
    ['2026-07-06 19:10', 'baseball/mlb.1/ml/ft home'],
    ['2026-07-07', 'ambiguous_market'],
    ['2026-07-08', 'ambiguous_market'],
    ['2026-07-08T22:10:00Z', 'ambiguous_market'],
  ])('%s', async ([start = '', expected]) => {
    expect(await looked(`${header}\n${ofSeries(start)}`)).toEqual([expected])
  })
})

test('G20: a bet that says only when it was placed is graded on the next game, flagged, where no other is near', async () => {
  const header = 'bet_id,sportsbook,type,status,odds,time_placed_iso,bet_info,sports,leagues'
  expect(await looked(`${header}\n${placedAt('2026-07-06T23:10:00.000Z')}`)).toEqual([
    'baseball/mlb.1/ml/ft home',
  ])
  expect(await looked(`${header}\n${placedAt('2026-07-07T20:10:00.000Z')}`)).toEqual([
    'ambiguous_market',
  ])
})
