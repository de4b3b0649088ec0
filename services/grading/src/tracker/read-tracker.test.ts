import { describe, expect, test } from 'vitest'
import { readTracker, type TrackerChoices } from './read-tracker.ts'

/** Each row's pick in one line, or what it lacks. */
function briefly(csv: string, choices?: TrackerChoices): readonly string[] {
  const read = readTracker(csv, choices)
  if (read.kind === 'unreadable') return [`unreadable: ${read.problem}`]
  return [...read.rows].map((row) => {
    if ('expected' in row.bet) return `${row.line} ${row.bet.field}?`
    if ('legs' in row.bet) return `${row.line} ${row.bet.legs.length} legs`
    const { market, selection, line, odds, placed_at } = row.bet
    const date = row.bet.starts_at?.slice(0, 10) ?? row.bet.date
    const key =
      typeof market === 'string'
        ? market
        : `${market.sport}|${market.event}|${market.type}/${market.period}`
    return [row.line, key, selection, line, `@${odds}`, date, placed_at]
      .filter((part) => part !== undefined)
      .join(' ')
  })
}

// Made by hand, in the headers of the exports (docs/how-to/audit-a-tracker-file.md says where each was seen).
describe('columns are found by name, in the headers of the common exports', () => {
  test('Pikkit', () => {
    expect(
      briefly(`bet_id,sportsbook,type,status,odds,closing_line,ev,amount,profit,time_placed,time_settled,time_placed_iso,time_settled_iso,bet_info,tags,sports,leagues
b1,FanDuel,straight,SETTLED_WIN,2.10,,0.05,100,110,02/24/2026 19:53:23 GMT,,2026-02-24T19:53:23.751Z,,Dodgers ML Los Angeles Dodgers @ Arizona Diamondbacks,,Baseball,MLB
b2,DraftKings,parlay,SETTLED_LOSS,6.89,3.46,,50,-50,02/23/2026 15:30:00 GMT,,2026-02-23T15:30:00.000Z,,Lakers ML | Celtics -3.5,,Basketball | Basketball,NBA | NBA
b3,DraftKings,straight,SETTLED_LOSS,1.9,,,50,-50,02/23/2026 15:30:00 GMT,,2026-02-23T15:30:00.000Z,,Over 2.5,,Soccer,EPL`),
    ).toEqual([
      '2 baseball|Arizona Diamondbacks v Los Angeles Dodgers|ml/ft away @2.10 2026-02-24T19:53:23Z',
      '3 legs?',
      '4 event?',
    ])
  })

  test('aussportsbetting.com’s worksheet', () => {
    expect(
      briefly(`Date,Bookmaker,Sport / League,Selection,Bet Type,Tipper,Time of Line,Fixture / Event,Live Bet,Score / Result,Stake,Odds (US),FB,Win
10/16/2011,Tracker,NFL,SF,Spread +5.5,,,13:00 SF @ DET,N,25 - 19,1,110,N,W
10/16/2011,Tracker,NFL,Over 45,Total,,,SF @ DET,N,,1,-110,N,L`),
    ).toEqual([
      '2 american_football|DET v SF|spread/ft away -5.5 @+110 2011-10-16',
      '3 american_football|DET v SF|total/ft over 45 @-110 2011-10-16',
    ])
  })

  test('Betfair’s betting P&L', () => {
    expect(
      briefly(`Market,Selection,Bid type,Avg. odds matched,Stake (£),Start time,Settled date,Profit/Loss (£)
Football / Man Utd v Arsenal : Match Odds,The Draw,Back,3.6,10.00,23-Apr-24 20:00,23-Apr-24 22:00,-10
Football / Man Utd v Arsenal : Over/Under 2.5 Goals,Under 2.5 Goals,Back,110.0,10.00,23-Apr-24 20:00,,-10
Football / Man Utd v Arsenal : Match Odds,Arsenal,Lay,3.6,10.00,23-Apr-24 20:00,23-Apr-24 22:00,-10`),
    ).toEqual([
      '2 soccer|Man Utd v Arsenal|1x2/ft draw @3.6 2024-04-23',
      '3 soccer|Man Utd v Arsenal|total/ft under 2.5 @110.0 2024-04-23',
      '4 lay?',
    ])
  })

  test('G20: a row that says neither the day nor when it was placed is asked for it, whatever is recorded', () => {
    expect(
      briefly(`Date,Event,Selection,Odds
2024-04-23,Arsenal v Chelsea,Arsenal,1.62
,Everton v Liverpool,Liverpool,2.00`),
    ).toEqual(['2 soccer|Arsenal v Chelsea|1x2/ft home @1.62 2024-04-23', '3 date?'])
  })

  test('Pinnacle’s history, semicolons and decimal commas', () => {
    expect(
      briefly(`Bet no.;Accepted;Event date;Match;Pick;Price;Stake
#1;2024-04-22T09:00:00Z;23.04.2024;Arsenal - Chelsea;Arsenal -0,5;1,909;10,50
#2;2024-04-22T09:00:00Z;23.04.2024;Arsenal - Chelsea;Draw;3,6;10`),
    ).toEqual([
      '2 soccer|Arsenal v Chelsea|ah/ft home -0.5 @1.909 2024-04-23 2024-04-22T09:00:00Z',
      '3 soccer|Arsenal v Chelsea|1x2/ft draw @3.6 2024-04-23 2024-04-22T09:00:00Z',
    ])
  })

  test('a sheet with a title above its header, tabs, home and away, sums below', () => {
    expect(
      briefly(`My bets\t\t\t\t\n\nKick-off\tHome Team\tAway Team\tMarket\tSelection\tOdds taken
03/04/2024\tArsenal\tChelsea\tAsian Handicap\tChelsea +1\t11/10
25/04/2024\tArsenal\tChelsea\tBTTS\tYes\tEVEN
\t\t\t\tTotal\t
`),
    ).toEqual([
      '4 soccer|Arsenal v Chelsea|ah/ft away -1 @11/10 2024-04-03',
      '5 soccer|Arsenal v Chelsea|btts/ft yes @EVEN 2024-04-25',
      '6 odds?',
    ])
  })

  test('our own keys', () => {
    expect(
      briefly(`market,selection,odds,ref
soccer/epl.20240423.ars-che/1x2/ft,home,2.10,mine`),
    ).toEqual(['2 soccer/epl.20240423.ars-che/1x2/ft home @2.10'])
  })
})

test('a bare 110 is asked about; the reader’s answer decides', () => {
  const csv = 'date,home,away,selection,odds\n2024-04-23,Arsenal,Chelsea,1,110'
  expect(briefly(csv)).toEqual(['2 odds?'])
  expect(briefly(csv, { notation: 'american' })[0]).toContain('@+110 ')
  expect(briefly(csv, { notation: 'decimal' })[0]).toContain('@110.0 ')
})

test('a day and its clock are read wherever the two stand', () => {
  const header = 'Date,Start Time,Event/Match,Bet,Odds'
  expect(
    briefly(
      `${header}\n2024-04-23,20:00,Arsenal v Chelsea,Arsenal,1.62\n2024-04-23,2024-04-24 20:00,Arsenal v Chelsea,Arsenal,1.62`,
    ).map((row) => row.slice(-10)),
  ).toEqual(['2024-04-23', '2024-04-24'])
  // A kick-off on the bet's own day, in a column of its own, makes the bet late by its clock.
  expect(
    briefly(
      'Match Date,Kick-off Time,Placed Date,Time Placed,Event,Bet,Odds\n2024-04-23,20:00,2024-04-23,20:30,Arsenal v Chelsea,Arsenal,1.62',
    ),
  ).toEqual(['2 placed_at?'])
})

test('day or month first is asked about where no date of the file says it', () => {
  const csv = 'date,home,away,selection,odds\n03/04/2024,Arsenal,Chelsea,1,2.1'
  expect(briefly(csv)).toEqual(['2 date?'])
  expect(briefly(csv, { order: 'day_first' })[0]).toContain('2024-04-03')
})

const sportRow = (sport: string, event: string) =>
  briefly(`date,sport,event,selection,odds\n2024-04-23,${sport},${event},home,2.1`)[0]

test('a sport is read from the teams where the file says only Football, and asked for where two sports know them', () => {
  expect(sportRow('Football', 'Detroit Lions v Green Bay Packers')).toContain('american_football|')
  expect(sportRow('Football', 'Arsenal v Chelsea')).toContain('soccer|')
  expect(sportRow('', 'Cleveland v Detroit')).toBe('2 sport?')
  expect(sportRow('NFL', 'Cleveland v Detroit')).toContain('american_football|')
  expect(sportRow('Curling', 'Norway v Sweden')).toBe('2 sport?')
})

test('hostile and broken files are answered, never thrown on', () => {
  expect(briefly('')).toEqual([expect.stringContaining('unreadable: a header')])
  expect(briefly('a,b,c\n1,2,3')).toEqual([expect.stringContaining('unreadable: a header')])
  const many = `date,home,away,selection,odds\n${'2024-04-23,Arsenal,Chelsea,1,2.1\n'.repeat(1_001)}`
  expect(briefly(many)).toEqual(['unreadable: at most 1000 bets'])
  const strange = readTracker(
    'date,home,away,selection,odds,ref\n2024-04-23,a\u0000,b\u202e,<script>,=1+1,\u0007',
  )
  expect(strange.kind).toBe('tracker')
  expect(briefly(`event,odds\n"${'x'.repeat(50_000)}`)).toHaveLength(1)
})

describe('lines of a market key, a selection and odds need no header', () => {
  const key = 'soccer/epl.20240423.ars-che/1x2/ft'

  test.each([
    ['commas', `${key}, home, 2.10`],
    ['tabs', `${key}\thome\t2.10`],
    ['semicolons', `${key};home;2.10`],
    ['quotes', `"${key}","home","2.10"`],
  ])('separated by %s', (_name, csv) => {
    expect(briefly(csv)).toEqual([`1 ${key} home @2.10`])
  })

  test('comments and empty lines are none, and each line is named by what it lacks', () => {
    expect(briefly(`# mine, all\n\n${key}, home, 2.10\n${key}, home\nhello`)).toEqual([
      `3 ${key} home @2.10`,
      '4 odds?',
      '5 odds?',
    ])
  })

  test('the fourth cell is the reader’s mark, commas in quotes included', () => {
    const read = readTracker(`${key}, home, 11/10, "tip 7, ""sure"""`)
    expect(read.kind === 'tracker' && [...read.rows][0]).toMatchObject({
      bet: { market: key, odds: '11/10', ref: 'tip 7, "sure"' },
    })
  })
})
