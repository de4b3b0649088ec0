/** Columns beside the market that make it another one, or the bet another kind. */
import { describe, expect, test } from 'vitest'
import { trackerSteps } from './read-tracker.ts'
import { allAtOnce } from './steps.ts'

/** The market of the only row, what is asked, or the field of what is wrong. */
function readWith(column: string, value: string, [market, selection] = ['1X2', 'Arsenal']): string {
  const read = allAtOnce(
    trackerSteps(
      `Date,Home,Away,Market,Selection,Odds,${column}\n2024-04-23,Arsenal,Chelsea,${market},${selection},2.1,${value}`,
    ),
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
