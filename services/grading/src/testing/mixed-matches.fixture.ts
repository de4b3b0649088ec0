/** Matches that a ledger records, by the names that people write, and made-up closes of them. */

/** A draw from 0 (inclusive) to 1. */
export type Chance = () => number

export const drawFrom = <Value>(chance: Chance, values: readonly Value[]): Value => {
  const value = values[Math.floor(chance() * values.length)]
  if (value === undefined) throw new Error('nothing to draw from')
  return value
}

/** A recorded match. The first name is the ledger's, the others are what people write. */
export type Match = {
  readonly id: string
  readonly sport: 'soccer' | 'american_football' | 'baseball' | 'basketball' | 'ice_hockey'
  readonly league: string
  readonly leagueNames: readonly string[]
  readonly home: readonly string[]
  readonly away: readonly string[]
  /** Unix seconds. */
  readonly startAtSeconds: number
}

const league = (
  sport: Match['sport'],
  [name, ...others]: readonly [string, ...string[]],
  matches: readonly (readonly [id: string, startsAt: string, home: string, away: string])[],
): readonly Match[] =>
  matches.map(([id, startsAt, home, away]) => ({
    id: `${sport}/${id}`,
    sport,
    league: name,
    leagueNames: [name, ...others],
    home: home.split('|'),
    away: away.split('|'),
    startAtSeconds: Date.parse(startsAt) / 1_000,
  }))

export const MATCHES: readonly Match[] = [
  ...league(
    'soccer',
    ['EPL', 'Premier League', 'English Premier League'],
    [
      ['m1', '2026-03-07T15:00:00Z', 'Arsenal|Arsenal FC', 'Chelsea|Chelsea FC'],
      [
        'm2',
        '2026-03-07T15:00:00Z',
        'Manchester United|Man Utd|Man United',
        'Wolverhampton Wanderers|Wolves|Wolverhampton',
      ],
      [
        'm3',
        '2026-03-08T16:30:00Z',
        "Nottingham Forest|Nott'm Forest|Nottm Forest",
        'Brighton and Hove Albion|Brighton',
      ],
      [
        'm4',
        '2026-03-14T12:30:00Z',
        'Tottenham Hotspur|Tottenham|Spurs',
        'Manchester City|Man City',
      ],
      ['m5', '2026-03-14T15:00:00Z', 'West Ham United|West Ham', 'Newcastle United|Newcastle'],
    ],
  ),
  ...league(
    'soccer',
    ['EFL Champ', 'Championship', 'EFL Championship'],
    [
      ['m6', '2026-03-07T15:00:00Z', 'Cardiff City|Cardiff', 'Southampton'],
      ['m7', '2026-03-10T19:45:00Z', 'Sheffield Wednesday|Sheff Wed', 'Preston North End|Preston'],
    ],
  ),
  ...league(
    'soccer',
    ['La Liga - Spain', 'La Liga', 'LaLiga'],
    [
      [
        'm8',
        '2026-03-08T20:00:00Z',
        'Atlético Madrid|Atletico Madrid|Atletico de Madrid',
        'Real Sociedad',
      ],
      ['m9', '2026-03-15T17:30:00Z', 'Barcelona|FC Barcelona', 'Real Betis|Betis'],
    ],
  ),
  ...league(
    'soccer',
    ['Bundesliga - Germany', 'Bundesliga'],
    [
      [
        'm10',
        '2026-03-06T19:30:00Z',
        'Bayern Munich|FC Bayern München|Bayern',
        'Bayer Leverkusen|Leverkusen',
      ],
      [
        'm11',
        '2026-03-07T14:30:00Z',
        '1. FC Köln|FC Koln|Köln',
        'Borussia Monchengladbach|Gladbach|Borussia Mönchengladbach',
      ],
    ],
  ),
  ...league(
    'american_football',
    ['NFL', 'National Football League'],
    [
      ['n1', '2026-01-04T18:00:00Z', 'Detroit Lions|Lions|DET', 'San Francisco 49ers|49ers|SF'],
      [
        'n2',
        '2026-01-04T21:25:00Z',
        'Arizona Cardinals|Cardinals|ARI',
        'Atlanta Falcons|Falcons|ATL',
      ],
      [
        'n3',
        '2026-01-05T01:20:00Z',
        'Minnesota Vikings|Vikings|MIN',
        'Green Bay Packers|Packers|GB',
      ],
      [
        'n4',
        '2026-01-11T18:00:00Z',
        'Baltimore Ravens|Ravens|BAL',
        'Cincinnati Bengals|Bengals|CIN',
      ],
    ],
  ),
  ...league(
    'baseball',
    ['MLB', 'Major League Baseball'],
    [
      [
        'b1',
        '2026-05-05T20:10:00Z',
        'Pittsburgh Pirates|Pirates|PIT',
        'St. Louis Cardinals|Cardinals|STL',
      ],
      ['b2', '2026-05-12T17:05:00Z', 'New York Yankees|Yankees|NYY', 'Boston Red Sox|Red Sox|BOS'],
      [
        'b3',
        '2026-05-20T19:40:00Z',
        'Los Angeles Dodgers|Dodgers|LAD',
        'Arizona Diamondbacks|Diamondbacks|ARI',
      ],
    ],
  ),
  ...league(
    'basketball',
    ['NBA'],
    [
      ['k1', '2026-02-10T20:00:00Z', 'Boston Celtics|Celtics|BOS', 'Miami Heat|Heat|MIA'],
      ['k2', '2026-02-11T20:30:00Z', 'Los Angeles Lakers|Lakers|LAL', 'Denver Nuggets|Nuggets|DEN'],
    ],
  ),
  ...league(
    'ice_hockey',
    ['NHL'],
    [
      [
        'h1',
        '2026-02-12T18:00:00Z',
        'Toronto Maple Leafs|Maple Leafs|TOR',
        'Montreal Canadiens|Canadiens|MTL',
      ],
    ],
  ),
]

/** Three games of one pair on consecutive evenings. */
export const SERIES: readonly Match[] = league(
  'baseball',
  ['MLB', 'Major League Baseball'],
  [
    ['s1', '2026-06-09T23:05:00Z', 'Seattle Mariners|Mariners|SEA', 'Houston Astros|Astros|HOU'],
    ['s2', '2026-06-10T23:05:00Z', 'Seattle Mariners|Mariners|SEA', 'Houston Astros|Astros|HOU'],
    ['s3', '2026-06-11T23:05:00Z', 'Seattle Mariners|Mariners|SEA', 'Houston Astros|Astros|HOU'],
  ],
)

/** Closes of each sport, by market. The prices are made up. */
export const CLOSES: Readonly<
  Record<Match['sport'], Readonly<Record<string, Readonly<Record<string, number>>>>>
> = {
  soccer: {
    '1x2/ft': { home: 2.1, draw: 3.5, away: 3.7 },
    'ah/ft/-0.5': { home: 2.08, away: 1.84 },
    'ah/ft/-0.25': { home: 1.82, away: 2.1 },
    'ah/ft/0.75': { home: 1.44, away: 2.86 },
    'total/ft/2.5': { over: 1.95, under: 1.93 },
    'total/ft/2.75': { over: 2.16, under: 1.76 },
    'btts/ft': { yes: 1.8, no: 2.04 },
    'dnb/ft': { home: 1.55, away: 2.55 },
    'dc/ft': { home_draw: 1.32, home_away: 1.36, draw_away: 1.8 },
    '1x2/h1': { home: 2.7, draw: 2.15, away: 4.2 },
    'total/h1/1.5': { over: 2.6, under: 1.52 },
    'team_total/ft/1.5@home': { over: 2.2, under: 1.68 },
  },
  american_football: {
    'ml/ft': { home: 1.62, away: 2.4 },
    'spread/ft/-3.5': { home: 1.94, away: 1.94 },
    'total/ft/45.5': { over: 1.91, under: 1.97 },
    'spread/h1/-1.5': { home: 1.9, away: 1.96 },
    'team_total/ft/24.5@home': { over: 1.9, under: 1.9 },
  },
  baseball: {
    'ml/ft': { home: 1.74, away: 2.2 },
    'spread/ft/-1.5': { home: 2.4, away: 1.62 },
    'total/ft/8.5': { over: 1.93, under: 1.93 },
    'ml/f5': { home: 1.8, away: 2.1 },
  },
  basketball: {
    'ml/ft': { home: 1.5, away: 2.7 },
    'spread/ft/-4.5': { home: 1.92, away: 1.96 },
    'total/ft/221.5': { over: 1.94, under: 1.94 },
  },
  ice_hockey: {
    'ml/ft': { home: 1.7, away: 2.26 },
    'spread/ft/-1.5': { home: 2.7, away: 1.5 },
    'total/ft/6.5': { over: 2.02, under: 1.86 },
  },
}
