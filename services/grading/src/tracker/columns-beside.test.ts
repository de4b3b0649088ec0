/** Columns beside the market that make it another one, or the bet another kind. */
import { describe, expect, test } from 'vitest'
import { readTracker } from './read-tracker.ts'

/** The market of the only row, what is asked, or the field of what is wrong. */
function readWith(column: string, value: string, [market, selection] = ['1X2', 'Arsenal']): string {
  const read = readTracker(
    `Date,Home,Away,Market,Selection,Odds,${column}\n2024-04-23,Arsenal,Chelsea,${market},${selection},2.1,${value}`,
  )
  if (read.kind === 'unreadable') return read.problem
  const [row] = [...read.rows]
  if (row === undefined || 'legs' in row.bet) return 'nothing'
  if ('expected' in row.bet) return `${row.bet.field}?`
  const { market: key } = row.bet
  return typeof key === 'string' ? key : `${key.type}/${key.period}`
}

describe('G19: a part of the match in a column of its own is part of the market', () => {
  test.for([
    ['', '1x2/ft'],
    ['Full Time', '1x2/ft'],
    ['FT', '1x2/ft'],
    ['Match', '1x2/ft'],
    ['Full Game', '1x2/ft'],
    ['1H', '1x2/h1'],
    ['1st Half', '1x2/h1'],
    ['First Half', '1x2/h1'],
    ['2nd Half', '1x2/h2'],
    ['1. Halbzeit', '1x2/h1'],
  ])('%s is %s', ([value = '', market]) => {
    expect(readWith('Period', value)).toBe(market)
  })

  test.for(['Half', 'ET', 'Extra Time', '10 minutes', 'Overtime', '1st set', 'xyz'])(
    '%s is no whole match',
    (value) => {
      expect(readWith('Period', value)).toMatch(/\?$/)
    },
  )

  test('a part in the column and another in the market are asked about', () => {
    expect(readWith('Half', '2nd Half', ['1st Half 1X2', 'Arsenal'])).toMatch(/\?$/)
    expect(readWith('Half', '1st Half', ['1st Half 1X2', 'Arsenal'])).toBe('1x2/h1')
  })
})

describe('G19: a column of sides that says something unknown is asked about', () => {
  test.for(['', 'Back', 'BACK', 'Buy', 'Home', 'Arsenal', 'Bet', 'Long'])(
    '%s is a back',
    (side) => {
      expect(readWith('Side', side)).toBe('1x2/ft')
    },
  )
  test.for(['Lay (Betfair)', 'Punta contro', 'Lay', 'Banca', 'against the team'])(
    '%s is none',
    (side) => {
      expect(readWith('Side', side)).toMatch(/\?$/)
    },
  )
})

/** What becomes of each of these columns beside a bet on Arsenal at 2.1: the market, or the field of what is asked or wrong. */
type Beside = readonly [column: string, value: string, bet?: [market: string, selection: string]]

describe('G19: two columns of a bet agree, or it is none of theirs', () => {
  test.for<Beside>([
    ['Bet', 'Win to Nil'],
    ['Pick', 'Over 2.5'],
    ['Pick', 'Chelsea'],
    ['Market Name', 'First Goal'],
    ['Market Type', 'CORNERS'],
    ['Player', 'Saka', ['Goals', 'Over 0.5']],
    ['Player Name', 'Bukayo Saka'],
    ['Team', 'Arsenal', ['Total Goals', 'Over 1.5']],
    ['Team', 'Chelsea'],
    ['Stat', 'Corners', ['Total', 'Over 9.5']],
    ['Prop Type', 'Cards', ['Total', 'Over 4.5']],
    ['Sub-market', 'Corners'],
    ['Proposition', 'To win both halves'],
  ])('%s: %s is another bet', ([column, value, bet]) => {
    expect(readWith(column, value, bet)).toMatch(/\?$/)
  })

  test.for<Beside>([
    ['Bet', '10.00'],
    ['Bet', '$25'],
    ['Pick', 'arsenal'],
    ['Team', 'Arsenal'],
    ['Player', ''],
    ['Market Name', 'Match Odds'],
    ['Outcome', 'Lost'],
    ['Outcome', 'Chelsea'],
    ['Outcome', '2'],
  ])('%s: %s says nothing else', ([column, value]) => {
    expect(readWith(column, value)).toBe('1x2/ft')
  })

  test('a part of the match in the second column is the part that was bet on', () => {
    expect(readWith('Market Name', 'First Half Result')).toBe('1x2/h1')
  })

  test('an outcome beside a tip is the match’s, not the bet', () => {
    const csv = 'Date,Home,Away,Tip,Odds,Outcome\n2024-04-23,Arsenal,Chelsea,1,2.1,2'
    const read = readTracker(csv)
    const [row] = read.kind === 'tracker' ? [...read.rows] : []
    expect(row?.bet).toMatchObject({ selection: 'home' })
  })
})

test.for([
  ['1X2', '', 'Arsenal -1'],
  ['', '', 'Arsenal -1'],
  ['', '', '1 (-1)'],
  ['', '-1', 'Arsenal'],
])('G19: a whole handicap that no name calls Asian may be one with a draw: %j', (bet) => {
  const [market = '', line = '', selection = ''] = bet
  const read = readTracker(
    `Date,Home,Away,Market,Line,Selection,Odds\n2024-04-23,Arsenal,Chelsea,${market},${line},${selection},2.1`,
  )
  const [row] = read.kind === 'tracker' ? [...read.rows] : []
  expect(row?.bet).toHaveProperty('expected')
})

describe('G19: a cell beside the bet that names another market, part or team is asked about', () => {
  test.for<Beside>([
    ['Notes', 'Corners', ['Total', 'Over 9.5']],
    ['Notes', '1st half'],
    ['Notes', 'to win to nil'],
    ['Tags', 'value;first half'],
    ['Tags', 'corners;model', ['Total', 'Over 9.5']],
    ['Whatever', 'Corners', ['Total', 'Over 9.5']],
    ['Scope', '1st Half'],
    ['Metric', 'Bookings', ['Total', 'Over 4.5']],
    ['Unit', 'Cards', ['Total', 'Over 4.5']],
  ])('%s: %s', ([column, value, bet]) => {
    expect(readWith(column, value, bet)).toBe('market?')
  })

  test.for<Beside>([
    ['Notes', '1X2'],
    ['Notes', 'match odds'],
    ['Notes', 'a first half of good chances, corners too'],
    ['Stage', 'Group'],
    ['Season Type', 'Playoffs'],
    ['Graded', 'Win'],
    ['Tags', 'favourites, home'],
    ['Tags', 'Totals', ['Over/Under', 'Over 2.5']],
  ])('%s: %s is no other bet', ([column, value, bet]) => {
    expect(readWith(column, value, bet)).toMatch(/ft$/)
  })
})
