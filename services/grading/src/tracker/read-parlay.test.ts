import { describe, expect, test } from 'vitest'
import { readTracker } from './read-tracker.ts'

/** Each bet of a file in one line: a parlay by its legs, otherwise its code and what was expected of which field. */
function briefly(csv: string): readonly string[] {
  const read = readTracker(csv)
  if (read.kind === 'unreadable') return [read.problem]
  return [...read.rows].map(({ bet, line }) => {
    if ('expected' in bet) return `${line} ${bet.code} ${bet.field}`
    if (!('legs' in bet)) return `${line} single`
    const legs = bet.legs.map(({ market, selection, line: at, odds, date, starts_at }) => {
      const event = typeof market === 'string' ? market : `${market.event} ${market.type}`
      return [event, selection, at, `@${odds}`, starts_at ?? date].filter(Boolean).join(' ')
    })
    return [`${line} @${bet.odds}`, bet.placed_at, bet.stake, ...legs].filter(Boolean).join(' | ')
  })
}

const rows = (type: string, legs: string, odds: string) =>
  briefly(`Type,Date,Event,Selection,Odds
${type},2024-04-23 | 2024-04-24,Arsenal v Chelsea | Everton v Liverpool,${legs},${odds}`)

const ARS = 'Arsenal v Chelsea 1x2 home @1.62 2024-04-23'
const LIV = 'Everton v Liverpool 1x2 away @2.00 2024-04-24'
const PARLAY = `2 @3.24 | 10 | ${ARS} | ${LIV}`

describe('G18: legs with their prices are read as a parlay', () => {
  test.for([
    [
      'rows under a parent row',
      `Date,Event,Selection,Odds,Stake,Type
,,Parlay,3.24,10,Parlay
2024-04-23,Arsenal v Chelsea,Arsenal,1.62,,Leg
2024-04-24,Everton v Liverpool,Liverpool,2.00,,Leg`,
    ],
    [
      'rows of one id, their prices in a column and the total in another',
      `Bet ID,Date,Event,Selection,Odds,Total Odds,Stake,Type
T-1001,2024-04-23,Arsenal v Chelsea,Arsenal,1.62,3.24,10,Multi
T-1001,2024-04-24,Everton v Liverpool,Liverpool,2.00,3.24,10,Multi`,
    ],
    [
      'rows of one id and one total, which no row has as its own price',
      `Bet ID,Date,Event,Selection,Odds,Total Odds,Stake
T-1001,2024-04-23,Arsenal v Chelsea,Arsenal,1.62,3.24,10
T-1001,2024-04-24,Everton v Liverpool,Liverpool,2.00,3.24,10`,
    ],
    [
      'rows of one id, the total on each and a column of leg odds',
      `Bet ID,Date,Event,Selection,Odds,Leg Odds,Stake
T-1001,2024-04-23,Arsenal v Chelsea,Arsenal,3.24,1.62,10
T-1001,2024-04-24,Everton v Liverpool,Liverpool,3.24,2.00,10`,
    ],
    [
      'rows with the price behind the bet',
      `Bet ID,Date,Event,Selection,Odds,Stake
T-1001,2024-04-23,Arsenal v Chelsea,Arsenal @1.62,3.24,10
,2024-04-24,Everton v Liverpool,Liverpool @ 2.00,,`,
    ],
    [
      'columns of numbered legs',
      `Leg 1 Date,Leg 1 Event,Leg 1,Leg 1 Odds,Leg 2 Date,Leg 2 Event,Leg 2,Leg 2 Odds,Leg 3,Odds,Stake
2024-04-23,Arsenal v Chelsea,Arsenal,1.62,2024-04-24,Everton v Liverpool,Liverpool,2.00,,3.24,10`,
    ],
    [
      'numbered selections, events and odds',
      `Type,Date 1,Date 2,Event 1,Event 2,Selection 1,Selection 2,Odds 1,Odds 2,Total Odds,Stake
Double,2024-04-23,2024-04-24,Arsenal v Chelsea,Everton v Liverpool,Arsenal,Liverpool,1.62,2.00,3.24,10`,
    ],
    [
      'cells of several lines',
      `Date,Event,Selection,Leg Odds,Odds,Stake
"2024-04-23
2024-04-24","Arsenal v Chelsea
Everton v Liverpool","Arsenal
Liverpool","1.62
2.00",3.24,10`,
    ],
    [
      'cells with bars, the price behind each bet',
      `Type,Date,Event,Selection,Odds,Stake
Acca,2024-04-23 | 2024-04-24,Arsenal v Chelsea | Everton v Liverpool,Arsenal @1.62 | Liverpool @2.00,3.24,10`,
    ],
    [
      'the match in the text of the leg',
      `Type,Date,Selection,Odds,Stake
Parlay,2024-04-23 | 2024-04-24,Arsenal (Arsenal v Chelsea) @1.62 | Everton v Liverpool: Liverpool @2.00,3.24,10`,
    ],
    [
      'bets joined by a plus',
      `Type,Date,Event,Selection,Odds,Stake
2-fold,2024-04-23 + 2024-04-24,Arsenal v Chelsea + Everton v Liverpool,Arsenal @1.62 + Liverpool @2.00,3.24,10`,
    ],
  ])('%s', ([, csv]) => {
    expect(briefly(csv ?? '')).toEqual([PARLAY])
  })

  test('Pikkit’s bet_info with its matches and American prices', () => {
    expect(
      briefly(`bet_id,sportsbook,type,odds,amount,time_placed_iso,bet_info,sports,leagues
b2,DraftKings,parlay,+264,50,2026-02-23T15:30:00.000Z,Lakers ML Los Angeles Lakers @ Boston Celtics -110 | Knicks -3.5 Miami Heat @ New York Knicks -110,Basketball | Basketball,NBA | NBA`),
    ).toEqual([
      '2 @+264 | 2026-02-23T15:30:00Z | 50 | Boston Celtics v Los Angeles Lakers ml away @-110 | New York Knicks v Miami Heat spread home -3.5 @-110',
    ])
  })

  test('a leg that is not read, a price that is missing, or another number of legs names the row', () => {
    expect(rows('Parlay', 'Arsenal | Liverpool', '3.24')).toEqual(['2 multiple legs'])
    expect(rows('Parlay', 'Arsenal @1.62 | Liverpool', '3.24')).toEqual(['2 multiple legs'])
    expect(rows('Parlay', 'Arsenal @1.62 | Wombats @2.00', '3.24')).toEqual([
      '2 not_read selection',
    ])
    expect(rows('3-leg parlay', 'Arsenal @1.62 | Liverpool @2.00', '3.24')).toEqual([
      '2 multiple legs',
    ])
    expect(rows('Treble', 'Arsenal @1.62 | Liverpool @2.00', '3.24')).toEqual(['2 multiple legs'])
    expect(rows('Parlay', 'Arsenal @1.62', '3.24')).toEqual(['2 multiple type'])
  })

  test('a total that is not the product of the legs’ prices is a question', () => {
    expect(rows('Parlay', 'Arsenal @1.62 | Liverpool @2.00', '6.1')).toEqual(['2 unclear odds'])
  })

  test.for([
    'Yankee',
    'Round Robin',
    'System 2/3',
    'Teaser',
    'SGP',
    'Bet Builder',
    'Lucky 15',
    'Trixie',
  ])('a %s is no parlay of its legs', (type) => {
    expect(rows(type, 'Arsenal @1.62 | Liverpool @2.00', '3.24')).toEqual(['2 multiple type'])
  })

  test('a parlay in play, or with a leg in play, is named', () => {
    expect(rows('Live Parlay', 'Arsenal @1.62 | Liverpool @2.00', '3.24')).toEqual([
      '2 in_play in_play',
    ])
    expect(rows('Parlay', 'Arsenal (1-0) @1.62 | Liverpool @2.00', '3.24')[0]).toContain('in_play')
  })

  test('a file’s legs count as its bets do', () => {
    const leg = 'Arsenal @1.62 | Liverpool @2.00'
    const row = `Parlay,2024-04-23 | 2024-04-24,Arsenal v Chelsea | Everton v Liverpool,${leg},3.24`
    const read = briefly(`Type,Date,Event,Selection,Odds\n${`${row}\n`.repeat(501)}`)
    expect(read[499]).toContain('@3.24')
    expect(read[500]).toBe('502 multiple legs')
  })
})

/** The result of the only bet. */
const resultOfWhole = (csv: string) => {
  const read = readTracker(csv)
  if (read.kind === 'unreadable') throw new Error(read.problem)
  const [row] = [...read.rows]
  return row === undefined || 'expected' in row.bet ? 'no bet' : row.bet.result
}

test('G22: how a leg ended is not how the whole did: only a row of the whole has its result', () => {
  expect(
    resultOfWhole(`Bet ID,Date,Event,Selection,Odds,Total Odds,Stake,Type,Result
T-1001,2024-04-23,Arsenal v Chelsea,Arsenal,1.62,3.24,10,Multi,W
T-1001,2024-04-24,Everton v Liverpool,Liverpool,2.00,3.24,10,Multi,L`),
  ).toBeUndefined()
  expect(
    resultOfWhole(`Date,Event,Selection,Odds,Stake,Type,Result
,,Parlay,3.24,10,Parlay,L
2024-04-23,Arsenal v Chelsea,Arsenal,1.62,,Leg,
2024-04-24,Everton v Liverpool,Liverpool,2.00,,Leg,`),
  ).toBe('lost')
})
