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
    ['European Handicap', 'Arsenal -1', '', 'market: a market tha'],
    ['Asian Handicap', 'Arsenal', '', 'line: the handicap'],
    ['Over/Under', 'Over', '', 'line: the total th'],
    ['Something else', 'Arsenal', '', 'market: a market who'],
    ['Over/Under 2.5', 'Arsenal', '', 'selection: over or unde'],
  ])('%s, %s %s is %s', ([market = '', selection = '', line = '', expected]) => {
    expect(brief(selection, { market, line })).toBe(expected)
  })
})

describe('G19: names that people use are read', () => {
  test.for([
    ['Match Betting', 'Arsenal', '', '1x2 ft away'],
    ['Number of Goals', 'Over 2.5', '', 'total ft over 2.5'],
    ['3-Way Moneyline', 'Arsenal', '', '1x2 ft away'],
    ['Single', 'Arsenal', '', '1x2 ft away'],
    ['Straight', 'Over 2.5', '', 'total ft over 2.5'],
    ['Asian Handicap', 'Man United -0.5 & +0', '', 'ah ft home -0.25'],
    ['Asian Handicap', 'Man United 0 & -0.5', '', 'ah ft home -0.25'],
    ['Asian Handicap', 'Arsenal -0.5/-1', '', 'ah ft away 0.75'],
    ['Asian Handicap', 'Arsenal -½', '', 'ah ft away 0.5'],
    ['Asian Handicap', 'Arsenal -¾', '', 'ah ft away 0.75'],
    ['Asian Handicap', 'Arsenal +1¼', '', 'ah ft away -1.25'],
    ['Asian Handicap', 'Arsenal +1 1/2', '', 'ah ft away -1.5'],
    ['Asian Handicap', 'Arsenal -0,75', '', 'ah ft away 0.75'],
    ['', 'F2(+0.75)', '', 'ah ft away -0.75'],
    ['', 'AH2 +0.75', '', 'ah ft away -0.75'],
    ['Asian Handicap', '1 (-0.25)', '', 'ah ft home -0.25'],
    ['Handicap 2', 'Arsenal', '0.5', 'ah ft away -0.5'],
    ['O/U 2.5', 'Under', '', 'total ft under 2.5'],
    ['Goal Line', 'O2¼', '', 'total ft over 2.25'],
    ['Over/Under 2,5/3', 'Under', '', 'total ft under 2.75'],
    ['Man United v Arsenal - Match Odds', 'The Draw', '', '1x2 ft draw'],
    ['Over 2.5 Goals', 'Yes', '', 'total ft over 2.5'],
    ['Arsenal To Win', 'Yes', '', '1x2 ft away'],
    ['Half Time', 'Arsenal', '', '1x2 h1 away'],
    ['Double Chance', 'Arsenal/Draw', '', 'dc ft draw_away'],
    ['1. Halbzeit', 'Über 1,5 Tore', '', 'total h1 over 1.5'],
    ['Spielausgang', 'Unentschieden', '', '1x2 ft draw'],
    ['Más/Menos de goles', 'Más de 2.5', '', 'total ft over 2.5'],
    ['Esito Finale 1X2', '2', '', '1x2 ft away'],
    ['Les deux équipes marquent', 'Oui', '', 'btts ft yes'],
  ])('%s, %s %s is %s', ([market = '', selection = '', line = '', expected]) => {
    expect(brief(selection, { market, line })).toBe(expected)
  })
})

describe('G19: a market of its own', () => {
  test.for([
    ['Man United Total Goals', 'Over 2.5', '', 'team_total ft home over 2.5'],
    ['Away Team Total Goals', 'Over 2.5', '', 'team_total ft away over 2.5'],
    ['Team Total', 'Arsenal Under 1.5', '', 'team_total ft away under 1.5'],
    ['Total Goals by Arsenal', 'Under', '1.5', 'team_total ft away under 1.5'],
    ['1st Half Asian Handicap', 'Arsenal +0.25', '', 'ah h1 away -0.25'],
    ['To Win 2nd Half', 'Arsenal', '', '1x2 h2 away'],
    ['Half Time Score', '1-0', '', 'cs h1 1-0'],
  ])('%s, %s %s is %s', ([market = '', selection = '', line = '', expected]) => {
    expect(brief(selection, { market, line })).toBe(expected)
  })
})

describe('G19: what is not recorded has its name and its code', () => {
  test.for([
    ['To Win To Nil', 'Arsenal', 'a win to nil or a clean sheet', 'other_market'],
    ['To Win Both Halves', 'Arsenal', 'a bet on both halves, or on either', 'other_market'],
    ['Team to win either half', 'Arsenal', 'a bet on both halves, or on either', 'other_market'],
    ['2Up - Full Time Result', 'Arsenal', 'a win that is paid early', 'other_market'],
    ['Total Saves', 'Over 2.5', 'another statistic than the score', 'other_market'],
    ['Half Time/Full Time', 'Arsenal', 'half-time/full-time', 'other_market'],
    ['Handicap 0:1', 'Arsenal', 'a handicap with a draw', 'other_market'],
    ['Handicap', 'Draw -1', 'a handicap with a draw', 'other_market'],
    ['1X2', 'Arsenal & Over 2.5', 'a combination of two markets', 'other_market'],
    ['First Half Winner / Match Winner', 'Arsenal', 'a combination of two markets', 'other_market'],
    ['Half Time - Match Result', 'Arsenal', 'half-time/full-time', 'other_market'],
    ['', 'Arsenal, Over 2.5', 'a combination of two markets', 'other_market'],
    ['', 'Arsenal / Over 2.5', 'a combination of two markets', 'other_market'],
    ['', 'Man United/Draw', 'a combination of two markets', 'other_market'],
    ['', '1/X', 'a combination of two markets', 'other_market'],
    ['1X2', 'Arsenal to win to nil', 'a win to nil or a clean sheet', 'other_market'],
    ['Match Result - Live', 'Arsenal', 'a bet in play', 'in_play'],
    ['1X2 (1-0)', 'Arsenal', 'a bet in play: a score is part of its name', 'in_play'],
    ['h2h_lay', 'Arsenal', 'a lay', 'lay'],
    ['Bet Builder', 'Arsenal', 'a multiple', 'multiple'],
    ['Total Points', 'Over 2.5', 'a count of points in this sport', 'other_market'],
    ['Match Result incl. extra time', 'Arsenal', 'one with extra time', 'other_market'],
  ])('%s, %s is %s', ([market = '', selection = '', what, code]) => {
    expect(read(selection, { market })).toEqual({
      field: 'market',
      expected: `a market that the ledger records, not ${what}`,
      code,
    })
  })
})

describe('G19: texts that disagree, or may mean two things, are asked about', () => {
  test.for([
    ['1X2', 'Over 2.5', '', 'one market: the row names 1x2 and total'],
    ['1X2', 'Arsenal -1', '', 'no line: the market that the row names has none'],
    ['1X2', 'Arsenal', '-1', 'no line: the market that the row names has none'],
    ['1X2', 'Arsenal or Draw', '', 'one market: the row names 1x2 and dc'],
    ['Over/Under 2.5', 'Over 3.5', '', 'one line: the row has several that differ'],
    ['Over/Under', 'Over 2.5', '3.5', 'one line: the row has several that differ'],
    ['Over 2.5', 'Under', '', 'over or under'],
    ['Over 2.5', 'Arsenal', '', 'over or under, as the market’s name has it'],
    ['Over 2.5', 'No', '', 'over or under, as the market’s name has it'],
    ['Asian Handicap -0.5', 'Man United +0.5', '', 'one line: the row has several that differ'],
    ['Asian Handicap', 'Man United 0.5', '', 'a handicap with its sign, + or -'],
    ['Asian Handicap', 'Man United - 0.5', '', 'a handicap with its sign, + or -'],
    ['', 'Man United', '0', 'a handicap with its sign, + or -'],
    [
      'Handicap',
      'Man United -1',
      '',
      'Asian handicap: with a whole line “Handicap” may be one with a draw',
    ],
    [
      'Man United Total Goals',
      'Arsenal Over 1.5',
      '',
      'over or under, or a team of the event before it',
    ],
    ['', 'Arsenal -110', '', 'a handicap, not a price'],
    ['1st Half - Full Time Result', 'Arsenal', '', 'one part of the match'],
    ['Man United +1', 'Man United', '', 'a market: the name of a side is none'],
    ['Correct Score', 'Arsenal 2-1', '', 'a score with the home team’s goals first, such as 1-2'],
    ['Draw No Bet', 'Draw', '', 'home or away'],
  ])('%s, %s %s: %s', ([market = '', selection = '', line = '', expected]) => {
    expect(read(selection, { market, line })).toMatchObject({ expected })
  })
})

describe('G19: a match that goes on after a draw', () => {
  test.for([
    ['ice_hockey', 'Moneyline', 'Arsenal', 'ml ft away'],
    ['ice_hockey', 'Moneyline', 'Draw', '1x2 reg draw'],
    ['ice_hockey', '3-Way Moneyline', 'Arsenal', '1x2 reg away'],
    ['ice_hockey', '60 Minute Result', 'Arsenal', '1x2 reg away'],
    ['ice_hockey', 'Winner (incl. OT)', 'Arsenal', 'ml ft away'],
    ['ice_hockey', 'Draw No Bet', 'Arsenal', 'dnb reg away'],
    ['ice_hockey', 'Match Result', 'Arsenal', 'market: Moneyline, o'],
    ['ice_hockey', '60 Min Money Line', 'Arsenal', 'market: Moneyline, o'],
    ['ice_hockey', '1X2 incl. OT', 'Arsenal', 'market: a market tha'],
    ['ice_hockey', 'Total Goals', 'Over 5.5', 'total ft over 5.5'],
    ['ice_hockey', '1st Period Puck Line', 'Arsenal +0.5', 'spread p1 away -0.5'],
    ['basketball', '1st Half Result', 'Arsenal', 'market: Moneyline, o'],
    ['basketball', '1st Half Moneyline', 'Arsenal', 'ml h1 away'],
    ['baseball', 'Moneyline 1st 5', 'Arsenal', 'ml f5 away'],
    ['baseball', '1st 3 Innings', 'Arsenal', 'market: a market tha'],
    ['soccer', 'Match Result 90 Minutes', 'Arsenal', '1x2 ft away'],
    ['tennis', 'Total Games', 'Over 22.5', 'total ft over 22.5'],
    ['tennis', 'Total', 'Over 2.5', 'market: a line that '],
    ['tennis', 'Handicap', 'Arsenal -1.5', 'market: a line that '],
    ['tennis', 'Handicap', 'Arsenal -3.5', 'spread ft away 3.5'],
    ['tennis', '1st Set Winner', 'Arsenal', 'market: a market tha'],
    ['esports', 'Map 1 Winner', 'Arsenal', 'ml map1 away'],
    ['esports', 'Map 4 Winner', 'Arsenal', 'market: a market who'],
  ])('%s: %s, %s is %s', ([sport = '', market = '', selection = '', expected]) => {
    expect(brief(selection, { sport, market })).toBe(expected)
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
