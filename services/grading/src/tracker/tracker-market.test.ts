import { describe, expect, test } from 'vitest'
import { readBet } from './tracker-market.ts'

const teams = { home: 'Man United', away: 'Arsenal' }
const read = (selection: string, over: Partial<Parameters<typeof readBet>[0]> = {}) =>
  readBet({ sport: 'soccer', market: '', selection, line: '', teams, ...over })

/** A bet in one line: type, period, whose, selection, line. */
const brief = (selection: string, over: Partial<Parameters<typeof readBet>[0]> = {}): string => {
  const bet = read(selection, over)
  if ('expected' in bet) return `${bet.field}: ${bet.expected.slice(0, 12)}`
  const { type, period, participant, line } = bet
  return [type, period, participant, bet.selection, line]
    .filter((part) => part !== undefined)
    .join(' ')
}

describe('a selection by itself', () => {
  test.for([
    ['Manchester United', '1x2 ft home'],
    ['Arsenal to win', '1x2 ft away'],
    ['Draw', '1x2 ft draw'],
    ['X', '1x2 ft draw'],
    ['1', '1x2 ft home'],
    ['Over 2.5', 'total ft over 2.5'],
    ['Under 2,5 Goals', 'total ft under 2.5'],
    ['O2.5', 'total ft over 2.5'],
    ['u 3', 'total ft under 3'],
    ['Over 2.5/3', 'total ft over 2.75'],
    ['Over 2.5, 3.0', 'total ft over 2.75'],
    ['Man Utd -0.5', 'ah ft home -0.5'],
    ['Arsenal +0.5', 'ah ft away -0.5'],
    ['Arsenal (+0.25)', 'ah ft away -0.25'],
    ['Man Utd −0.5, −1.0', 'ah ft home -0.75'],
    ['Man Utd -0.5/1', 'ah ft home -0.75'],
    ['Man Utd 0', 'ah ft home 0'],
    ['Arsenal 0, +0.5', 'ah ft away -0.25'],
    ['Arsenal DNB', 'dnb ft away'],
    ['1X', 'dc ft home_draw'],
    ['Draw or Arsenal', 'dc ft draw_away'],
    ['Man Utd over 1.5', 'team_total ft home over 1.5'],
    ['Both teams to score - Yes', 'btts ft yes'],
    ['Over 1.5 1st half', 'total h1 over 1.5'],
    ['Chelsea', 'selection: home, draw o'],
    ['', 'selection: home, draw o'],
  ])('%s is %s', ([selection = '', expected]) => {
    expect(brief(selection)).toBe(expected)
  })
})

describe('a selection beside its market', () => {
  test.for([
    ['Full Time Result', 'Man United', '', '1x2 ft home'],
    ['Match Odds', 'The Draw', '', '1x2 ft draw'],
    ['1X2', '2', '', '1x2 ft away'],
    ['Asian Handicap', 'Arsenal', '+0.5', 'ah ft away -0.5'],
    ['Asian Handicap -0.25', 'Man Utd', '', 'ah ft home -0.25'],
    ['Over/Under 2.5 Goals', 'Under', '', 'total ft under 2.5'],
    ['Goals Over/Under', 'Over', '2.5', 'total ft over 2.5'],
    ['Total', 'over', '2.25', 'total ft over 2.25'],
    ['BTTS', 'No', '', 'btts ft no'],
    ['Correct Score', '2 - 1', '', 'cs ft 2-1'],
    ['Draw No Bet', 'Arsenal', '', 'dnb ft away'],
    ['Double Chance', 'X2', '', 'dc ft draw_away'],
    ['1st Half Result', 'Draw', '', '1x2 h1 draw'],
    // The name means two markets in football: the service asks.
    ['Moneyline', 'Arsenal', '', 'ml ft away'],
    ['Total Corners', 'Over 9.5', '', 'market: a market tha'],
    ['Anytime Goalscorer', 'Saka', '', 'market: a market tha'],
    ['European Handicap', 'Arsenal -1', '', 'market: a market suc'],
    ['Asian Handicap', 'Arsenal', '', 'line: the handicap'],
    ['Over/Under', 'Over', '', 'line: the total th'],
    ['Something else', 'Arsenal', '', 'market: a market suc'],
    ['Over/Under 2.5', 'Arsenal', '', 'selection: a selection '],
  ])('%s, %s %s is %s', ([market = '', selection = '', line = '', expected]) => {
    expect(brief(selection, { market, line })).toBe(expected)
  })
})

describe('American sports', () => {
  const nfl = {
    sport: 'american_football',
    teams: { home: 'Detroit Lions', away: 'San Francisco 49ers' },
  }
  test.for([
    ['Lions ML', '', 'ml ft home'],
    ['49ers +5.5', '', 'spread ft away -5.5'],
    ['SF +5.5', 'Spread', 'spread ft away -5.5'],
    ['49ers', 'Moneyline', 'ml ft away'],
    ['Detroit Lions -3', 'Point Spread', 'spread ft home -3'],
    ['Lions PK', '', 'spread ft home 0'],
    ['Over 45', 'Total Points', 'total ft over 45'],
    ['Under 22.5 1st half', '', 'total h1 under 22.5'],
  ])('%s, %s is %s', ([selection = '', market = '', expected]) => {
    expect(brief(selection, { ...nfl, market })).toBe(expected)
  })
})
