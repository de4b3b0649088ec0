import { describe, expect, test } from 'vitest'
import { readTracker } from './read-tracker.ts'

const quoted = (cells: readonly string[]) =>
  cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')

/** What becomes of a row with these columns beside a plain bet on Arsenal: `bet`, or its code. */
function readKind(more: Readonly<Record<string, string>>): string {
  const row: Record<string, string> = {
    Date: '2024-04-23',
    Event: 'Arsenal v Chelsea',
    Market: '1X2',
    Selection: 'Arsenal',
    Odds: '1.62',
    ...more,
  }
  const csv = `${quoted(Object.keys(row))}\n${quoted(Object.values(row))}\n`
  const read = readTracker(csv)
  if (read.kind === 'unreadable') return read.problem
  const [first] = [...read.rows]
  if (first === undefined) return 'no row'
  return 'expected' in first.bet
    ? `${first.bet.code}${first.bet.code === 'unclear' || first.bet.code === 'not_read' ? ` ${first.bet.field}` : ''}`
    : 'bet'
}

type Row = readonly [more: Readonly<Record<string, string>>]

describe('G19: a bet in play is seen wherever a file says it', () => {
  test.for<Row>([
    [{ 'Live Bet': 'Y' }],
    [{ Live: 'x' }],
    [{ 'In-Play': 'TRUE' }],
    [{ 'In Running?': '✓' }],
    [{ is_live: '1' }],
    [{ Live: "62'" }],
    [{ 'Pre-match': 'No' }],
    [{ 'Bet Timing': 'Live' }],
    [{ 'Bet Timing': 'In-Play' }],
    [{ 'Live/Pre-match': 'LIVE' }],
    [{ Tags: 'value, live' }],
    [{ Tags: '#live' }],
    [{ Notes: 'in-play' }],
    [{ Notes: 'Live bet after the red card' }],
    [{ 'Bet Type': 'Live Single' }],
    [{ Type: 'in_play' }],
    [{ Mode: 'Inplay' }],
    [{ Whatever: 'In-Play' }],
    [{ Market: 'Match Result (In-Play)' }],
    [{ Market: 'Live - 1X2' }],
    [{ Market: '2nd half live' }],
    [{ Market: 'Match Result (1-0)' }],
    [{ Market: '1X2 @ 0:1' }],
    [{ Market: 'Rest of match' }],
    [{ Market: 'Asian Handicap (1-0)', Selection: 'Chelsea +0.5' }],
    [{ Market: 'Live Wette 1X2' }],
    [{ Market: 'Resultado en vivo' }],
    [{ Selection: 'Chelsea (1-0)' }],
    [{ Selection: 'Chelsea live' }],
    [{ Selection: 'Over 2.5 [1-1]', Market: '' }],
    [{ Event: 'LIVE: Arsenal v Chelsea' }],
  ])('%j', ([more]) => {
    expect(readKind(more)).toBe('in_play')
  })

  test.for<Row>([
    [{ Notes: 'watched, then live dog was closer than the odds said, but live' }],
    [{ Event: 'Arsenal v Chelsea (1-0)' }],
    [{ 'Bet Timing': 'half time' }],
  ])('%j is asked about', ([more]) => {
    expect(readKind(more)).toBe('unclear in_play')
  })

  test.for<Row>([
    [{ 'Live Bet': 'N' }],
    [{ Live: '' }],
    [{ Live: '-' }],
    [{ Live: '✗' }],
    [{ 'In-Play': 'false' }],
    [{ 'Live/Pre-match': 'Pre-match' }],
    [{ 'Pre-match': 'Yes' }],
    [{ 'Bet Timing': 'Pre-game' }],
    [{ Notes: 'not live; watched on live stream' }],
    [{ Market: 'Correct Score', Selection: 'Arsenal 2-1' }],
    [{ Market: '', Selection: 'Arsenal -0-0.5' }],
    [{ Market: 'Over/Under', Selection: 'Over 2-2.5' }],
    [{ Result: '2-1', Status: 'live' }],
  ])('%j is none', ([more]) => {
    expect(readKind(more)).not.toMatch(/in_play/)
  })
})

test.for([
  ['2025-08-16 20:00', '2025-08-16 20:40', true],
  ['16/08/2025 20:00', '20/08/2025 12:00', true],
  ['2025-08-16 20:00', '2025-08-16 20:00', false],
  ['2025-08-16 20:00', '2025-08-16', false],
  ['2025-08-16 20:00', '2025-08-17', true],
  ['2025-08-16', '2025-08-16 23:00', false],
  ['2025-08-16', '2025-08-17 00:30', true],
  ['2025-08-16T20:00:00Z', '2025-08-16T20:01:00Z', true],
  ['2025-08-16T20:00:00Z', '2025-08-17 08:00', false],
  ['2025-08-16T20:00:00Z', '2025-08-17 11:00', true],
  ['2025-08-16 20:00', '2025-08-17T07:00:00Z', false],
  ['2025-08-16 20:00', '2025-08-17T09:00:00Z', true],
  ['16/08/2025 20:00 BST', '16/08/2025 20:40 BST', true],
  ['16/08/2025 20:00 BST', '16/08/2025 19:40 BST', false],
] as const)('G19: a start at %s and a bet placed at %s: late %s', ([start, placed, isLate]) => {
  const kind = readKind({ Date: start, 'Placed at': placed })
  expect(kind).toBe(isLate ? 'placed_after_start' : 'bet')
})

describe('G19: a multiple is one by any column or word that says so', () => {
  test.for<Row>([
    ...[
      'Yankee',
      'Round Robin',
      'Bet Builder',
      'Kombi',
      '4-fold',
      'Lucky 15',
      'lucky31',
      'SGP',
      'same_game_parlay',
      'Same Game Parlay+',
      'parlay',
      '3-Leg Parlay',
      'Trixie',
      'Patent',
      'Canadian',
      'Heinz',
      'Super Heinz',
      'Goliath',
      'Treble',
      'Double',
      'Acca',
      'Accumulator',
      'Teaser',
      '2 Team Teaser',
      'System 2/3',
      '2/3 System',
      'Multi',
      'Combo',
      'fourfold',
      'Combinada',
      'Multipla',
      'Kombiwette',
      'Combiné',
      '5 Legs',
      'betbuilder',
      'Экспресс',
    ].map((Type): Row => [{ Type }]),
    [{ 'Bet Type': 'same_game_parlay', Market: 'Moneyline' }],
    [{ Market: 'Treble' }],
    [{ Market: 'Double' }],
    [{ Market: 'Bet Builder - 1X2' }],
    [{ Legs: '3' }],
    [{ '# of legs': '2' }],
    [{ Parlay: 'Yes' }],
    [{ Multi: 'TRUE' }],
    [{ 'Parlay ID': 'p-17' }],
    [{ Tags: 'sgp' }],
    [{ Notes: 'part of an acca' }],
    [{ Sport: 'Parlay' }],
    [{ Whatever: 'Treble' }],
    [{ Selection: 'Arsenal + Over 2.5' }],
    [{ Selection: 'Arsenal\nLiverpool' }],
    [{ Selection: 'Arsenal | Liverpool' }],
    [{ Event: 'Arsenal v Chelsea + Everton v Fulham' }],
    [{ Event: 'Arsenal v Chelsea / Everton v Fulham' }],
    [{ Sport: 'Soccer | Soccer' }],
  ])('%j', ([more]) => {
    expect(readKind(more)).toBe('multiple')
  })

  test.for<Row>([
    ...[
      'Single',
      'straight',
      'SINGLES',
      'Straight Bet',
      'Einzelwette',
      'Pre-match',
      'Free Bet',
    ].map((Type): Row => [{ Type }]),
    [{ 'Bet Type': 'Single', Market: '' }],
    [{ Market: 'Single' }],
    [{ Legs: '1' }],
    [{ Multi: 'No' }],
    [{ Parlay: '' }],
    [{ Market: 'Double Chance', Selection: '1X' }],
    [{ Selection: 'Arsenal +1', Market: 'Asian Handicap' }],
    [{ Notes: 'double stake, my system says so' }],
  ])('%j is a single', ([more]) => {
    expect(readKind(more)).toBe('bet')
  })

  test('a kind that no list knows is asked about', () => {
    expect(readKind({ 'Bet Type': 'Wombat' })).toBe('unclear type')
  })
})

describe('G19: a lay is one by any column or word that says so', () => {
  test.for<Row>([
    ...['LAY', 'Lay', 'L', 'Against', 'Sell', 'S', 'Short', 'NO'].map((Side): Row => [{ Side }]),
    [{ Action: 'Sell' }],
    [{ Direction: 'Against' }],
    [{ Position: 'Short' }],
    [{ Position: 'No' }],
    [{ 'Bid type': 'Lay' }],
    [{ 'Back/Lay': 'L' }],
    [{ 'Buy/Sell': 'sold' }],
    [{ 'Lay Bet?': 'Y' }],
    [{ Type: 'Lay' }],
    [{ Selection: 'Lay Arsenal' }],
    [{ Selection: 'Arsenal (Lay)' }],
    [{ Market: 'Match Odds - Lay' }],
    [{ Tags: 'lay' }],
    [{ Whatever: 'Lay' }],
  ])('%j', ([more]) => {
    expect(readKind(more)).toBe('lay')
  })

  test.for<Row>([
    ...['Back', 'B', 'Buy', 'For', 'Long', 'Yes', ''].map((Side): Row => [{ Side }]),
    [{ 'Bid type': 'Back' }],
    [{ 'Lay Bet?': 'N' }],
    [{ Type: 'Back' }],
    [{ Notes: 'against the spread' }],
  ])('%j is a back', ([more]) => {
    expect(readKind(more)).toBe('bet')
  })
})

test.for<Row>([[{ 'E/W': 'Yes' }], [{ Type: 'Each Way' }], [{ Market: 'To win (each way)' }]])(
  'G19: %j is half a bet on a place',
  ([more]) => {
    expect(readKind(more)).toBe('each_way')
  },
)

describe('G19: whatever cell says it, a row that may be no single before the start is never graded silently', () => {
  test.for<Row>([
    [{ 'Bet Time': 'Live' }],
    [{ Placed: 'In-Play' }],
    [{ League: 'Premier League, in-play' }],
  ])('%j is in play', ([more]) => {
    expect(readKind(more)).toBe('in_play')
  })

  test.for<Row>([
    [{ 'Bet Time': "35'" }],
    [{ 'Bet Time': 'HT' }],
    [{ 'Bet Date': '2024-04-23', 'Bet Time': 'HT' }],
    [{ 'Game State': '1-0' }],
    [{ 'Score When Placed': '0-0' }],
    [{ 'Current Score': '1-0' }],
    [{ 'Live Odds': '2.5' }],
    [{ Time: "35'" }],
    [{ Whatever: "90+2'" }],
    [{ League: 'Premier League - Live' }],
    [{ Bookmaker: 'bet365 (live)' }],
    [{ Product: 'LIVE_SPORTS' }],
    [{ Source: 'Live betting' }],
  ])('%j is asked about', ([more]) => {
    expect(readKind(more)).toMatch(/^unclear/)
  })

  test.for<Row>([
    [{ Bookmaker: 'Betfair (lay)' }],
    [{ Type: 'L' }],
    [{ 'Order Type': 'Limit lay' }],
    [{ Stake: '10', Liability: '50' }],
    [{ Strategy: 'LTD' }],
  ])('%j may be a lay', ([more]) => {
    expect(readKind(more)).toMatch(/^unclear|^lay/)
  })

  test.for<Row>([
    [{ Bets: '3' }],
    [{ 'Num Bets': '3' }],
    [{ Folds: 'Double' }],
    [{ System: '2/3' }],
    [{ 'Teaser Points': '6' }],
    [{ Event: '+ Arsenal v Chelsea' }],
    [{ Selection: '& Arsenal' }],
  ])('%j is a multiple', ([more]) => {
    expect(readKind(more)).toBe('multiple')
  })

  test.for<Row>([
    [{ Placed: '22/04/2024 at 19:00' }],
    [{ 'Bet Time': '7:45 PM' }],
    [{ Stake: '10', Liability: '10.00' }],
    [{ Liability: '0' }],
    [{ Bookmaker: 'LiveScore Bet' }],
    [{ Bets: '1' }],
    [{ Type: 'S' }],
    [{ Type: 'B' }],
    [{ Status: 'Cancelled' }],
  ])('%j is a single', ([more]) => {
    expect(readKind(more)).toBe('bet')
  })

  test.for<Row>([[{ Status: 'Rejected' }], [{ Status: 'Unmatched' }], [{ Result: 'not placed' }]])(
    '%j was never a bet: it is asked about',
    ([more]) => {
      expect(readKind(more)).toBe('unclear result')
    },
  )

  test('a price that a withdrawal reduced is not graded as if it paid in full', () => {
    const race = { Event: '16:55 Testford', Sport: 'Horse Racing', Market: 'Win' }
    expect(readKind({ ...race, Selection: 'A Runner' })).toBe('bet')
    expect(readKind({ ...race, Selection: 'A Runner', 'Rule 4': '0.10' })).toBe('unclear odds')
    expect(readKind({ ...race, Selection: 'A Runner', 'Rule 4': '0.00' })).toBe('bet')
  })

  test.for(['Price Boost', 'Odds Boost', 'Bet Boost', 'Super Boost', 'Enhanced Odds'])(
    'a market that is only a %s is no match winner',
    (Market) => {
      expect(readKind({ Market })).toBe('other_market')
    },
  )
})
