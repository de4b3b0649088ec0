/** Trackers' files in the headers of docs/how-to/audit-a-tracker-file.md that mix good bets with those that nobody can grade. */
import { type Bet, drawBet, type Words } from './mixed-bets.fixture.ts'
import type { Form, Right, Row } from './mixed-forms.fixture.ts'
import { type Chance, drawFrom, SERIES } from './mixed-matches.fixture.ts'

export type MixedFile = { readonly csv: string; readonly rights: readonly Right[] }

const HOUR_SECONDS = 3_600
const DAY_SECONDS = 86_400

const say = (market: string, selection: string): Words => ({ market, selection })

const writeCell = (text: string): string =>
  /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

/** Markets that the score does not settle, that the ledger has not, or that are several bets in one. */
const OTHER_MARKETS: readonly ((team: string) => Words)[] = [
  (team) => say('To Win To Nil', team),
  (team) => say('Win to Nil', team),
  (team) => say('To Win Both Halves', team),
  (team) => say('To Win Either Half', team),
  (team) => say('2Up - Full Time Result', team),
  (team) => say('Half Time/Full Time', `${team}/${team}`),
  (team) => say('HT/FT', `${team} - ${team}`),
  (team) => say('Winning Margin', `${team} by 2`),
  (team) => say('To Qualify', team),
  (team) => say('To Lift the Trophy', team),
  (team) => say('Series Winner', team),
  (team) => say('First Team to Score', team),
  (team) => say('Race to 2 Goals', team),
  (team) => say('Most Corners', team),
  (team) => say('Team with most cards', team),
  (team) => say('European Handicap', `${team} -1`),
  (team) => say('3-Way Handicap', `${team} -1`),
  (team) => say('Result & Both Teams To Score', `${team} & Yes`),
  (team) => say('Match Result and Over/Under 2.5', `${team} and Over 2.5`),
  (team) => say('1X2 & Over 2.5', `${team} & Over 2.5`),
  (team) => say('10 Minute Result', team),
  (team) => say('1st 3 Innings', team),
  (team) => say('To Win From Behind', team),
  (team) => say('Clean Sheet', `${team} Yes`),
  (team) => say('Outright Winner', team),
  (team) => say('Top Goalscorer', team),
  () => say('Total Corners', 'Over 9.5'),
  () => say('Total Cards', 'Over 3.5'),
  () => say('Total Saves', 'Over 2.5'),
  () => say('Total Shots on Target', 'Over 8.5'),
  () => say('Odd/Even', 'Odd'),
  () => say('Goals Odd/Even', 'Even'),
  () => say('Exact Goals', '2'),
  () => say('Total Goals Range', '2-3'),
  () => say('Anytime Goalscorer', 'Bukayo Saka'),
  () => say('Player Points', 'LeBron James Over 25.5'),
  () => say('Passing Yards', 'Over 245.5'),
  () => say('Time of First Goal', 'Under 27.5'),
  () => say('Both Teams To Score in Both Halves', 'Yes'),
  () => say('Both Teams To Score & Over 2.5', 'Yes'),
  () => say('Penalty Awarded', 'Yes'),
  () => say('Goal in Injury Time', 'Yes'),
]

const drawOtherMarket = (chance: Chance, { match }: Bet): Words =>
  drawFrom(chance, OTHER_MARKETS)(drawFrom(chance, match.home))

/** Words for several bets in one. */
const MULTIPLES: readonly string[] = [
  'parlay',
  'Parlay',
  'SGP',
  'same_game_parlay',
  'Same Game Parlay+',
  'Bet Builder',
  'BetBuilder',
  'Yankee',
  'Round Robin',
  'Kombi',
  'Kombiwette',
  '4-fold',
  '5 Fold',
  'Fourfold',
  'Lucky 15',
  'Lucky31',
  'Trixie',
  'Patent',
  'Canadian',
  'Heinz',
  'Goliath',
  'Treble',
  'Double',
  'Acca',
  'Accumulator',
  'Teaser',
  'System 2/3',
  'Multi',
  'Multiple',
  'Combo',
  'Combinada',
  '3 legs',
  'Multibet',
  'Express',
]

const IN_PLAY_WORDS: readonly string[] = [
  'Live',
  'In-Play',
  'In Play',
  'inplay',
  'In-Running',
  'LIVE BET',
]

const LAY_WORDS: readonly string[] = ['Lay', 'LAY', 'lay', 'L', 'Against', 'Sell']

const named = (because: string): Right => ({ kind: 'named', because })

function plainRow(chance: Chance, bet: Bet, number: number): Row {
  const { match, market, selection } = bet
  return {
    number,
    bet,
    words: bet.words,
    price: bet.price,
    odds: '',
    notation: '',
    startAtSeconds: match.startAtSeconds,
    placedAtSeconds: match.startAtSeconds - (1 + Math.floor(chance() * 5)) * HOUR_SECONDS,
    league: drawFrom(chance, match.leagueNames),
    type: drawFrom(chance, ['', 'Single', 'straight', 'single']),
    isLive: false,
    side: '',
    right: {
      kind: 'graded',
      market: `${match.id}/${market}`,
      selection,
      price: bet.price,
      mayAsk: SERIES.includes(match),
    },
  }
}

/** Leagues in which the recorded teams' namesakes play. */
const OTHER_LEAGUES = {
  soccer: [
    'WSL',
    'Premier League 2',
    'FA Cup',
    'UEFA Champions League',
    'Women',
    'U21',
    'J League',
  ],
  american_football: ['NCAAF', 'CFL', 'UFL'],
  baseball: ['KBO', 'NPB', 'College Baseball', 'Spring Training'],
  basketball: ['WNBA', 'NCAAB', 'EuroLeague', 'Summer League'],
  ice_hockey: ['AHL', 'KHL'],
}

type Fault = (row: Row, chance: Chance) => Partial<Row> & { readonly right: Right }

/** What spoils a row, where its header can say it. */
const FAULTS: readonly { readonly fault: Fault; readonly fits: (form: Form) => boolean }[] = [
  {
    fits: ({ says }) => says.market,
    fault: ({ bet }, chance) => ({
      words: drawOtherMarket(chance, bet),
      right: named('another market'),
    }),
  },
  {
    fits: ({ says }) => says.market,
    fault: ({ words }, chance) => ({
      words: { ...words, market: `${words.market} (${drawFrom(chance, IN_PLAY_WORDS)})` },
      right: named('in-play, by its market'),
    }),
  },
  {
    fits: ({ says }) => says.market,
    fault: ({ words }, chance) => ({
      words: {
        ...words,
        market: `${words.market} ${drawFrom(chance, ['(1-0)', '@ 0:1', '[2-1]'])}`,
      },
      right: named('a score in its market'),
    }),
  },
  {
    fits: ({ says }) => says.live,
    fault: () => ({ isLive: true, right: named('in-play, by its column') }),
  },
  {
    fits: ({ says }) => says.type,
    fault: (_row, chance) => ({
      type: drawFrom(chance, MULTIPLES),
      right: named('a multiple, by its type'),
    }),
  },
  {
    fits: ({ says }) => says.market,
    fault: ({ words }, chance) => ({
      words: {
        ...words,
        market: `${words.market} ${drawFrom(chance, ['Bet Builder', 'SGP', 'Parlay'])}`.trim(),
      },
      right: named('a multiple, by its market'),
    }),
  },
  {
    fits: ({ says }) => says.market,
    fault: ({ words: { market, selection } }) => ({
      words: { market, selection: `${selection} + Over 1.5` },
      right: named('two selections in one'),
    }),
  },
  {
    fits: ({ says }) => says.side,
    fault: (_row, chance) => ({ side: drawFrom(chance, LAY_WORDS), right: named('a lay') }),
  },
  {
    fits: ({ says }) => says.placed,
    fault: ({ startAtSeconds }, chance) => ({
      placedAtSeconds: startAtSeconds + Math.ceil(chance() * 90) * 60,
      right: named('placed after its start'),
    }),
  },
  {
    fits: ({ says }) => says.league,
    fault: ({ bet: { match } }, chance) => ({
      league: drawFrom(chance, OTHER_LEAGUES[match.sport]),
      right: named('another league'),
    }),
  },
  {
    fits: ({ says }) => says.day,
    fault: ({ startAtSeconds }, chance) => ({
      startAtSeconds: startAtSeconds + drawFrom(chance, [-9, -6, 6, 9]) * DAY_SECONDS,
      placedAtSeconds: startAtSeconds - 12 * DAY_SECONDS,
      right: named('another day'),
    }),
  },
  {
    fits: () => true,
    fault: ({ price }, chance) => ({
      price: price * drawFrom(chance, [2, 3, 10]),
      right: named('a price far from anything recorded'),
    }),
  },
  {
    fits: () => true,
    fault: ({ bet: { match } }) => {
      const turned = { ...match, home: match.away, away: match.home }
      return {
        bet: {
          match: turned,
          market: 'ml/ft',
          selection: 'home',
          words: { market: '', selection: 'Home' },
          price: 2,
        },
        words: { market: match.sport === 'soccer' ? '1X2' : 'Moneyline', selection: 'Home' },
        right: named('a reversed fixture'),
      }
    },
  },
]

/** Three rows in ten are spoilt, if their header can say how. */
const SPOILT_SHARE = 0.3
const SERIES_SHARE = 0.05

/** The row with its price in one of the header's notations, which round it. */
function withOdds(row: Row, form: Form, chance: Chance): Row {
  const { names, write } = drawFrom(chance, form.notations)
  const { text, price } = write(row.price)
  const right = row.right.kind === 'graded' ? { ...row.right, price } : row.right
  return { ...row, odds: text, notation: names.length === 0 ? '' : drawFrom(chance, names), right }
}

/** A bet whose market has a name, where the header has a place for it only inside another cell. */
function namedBet(form: Form, chance: Chance): Bet {
  for (;;) {
    const bet = drawBet(chance, chance() < SERIES_SHARE ? SERIES : undefined)
    if (bet.words.market !== '' || !form.needsMarket) return bet
  }
}

/** A game of a series is its own, by its instant; by a day alone either is a question or its own game. */
function drawRow(form: Form, chance: Chance, number: number): Row {
  const row = plainRow(chance, namedBet(form, chance), number)
  if (chance() >= SPOILT_SHARE) return withOdds(row, form, chance)
  const { fault } = drawFrom(
    chance,
    FAULTS.filter(({ fits }) => fits(form)),
  )
  return withOdds({ ...row, ...fault(row, chance) }, form, chance)
}

export function drawFile(form: Form, rowCount: number, chance: Chance): MixedFile {
  const rows = Array.from({ length: rowCount }, (_row, number) => drawRow(form, chance, number))
  const lines = rows.map((row) => form.cells(row, chance).map(writeCell).join(','))
  return { csv: [form.header, ...lines].join('\n'), rights: rows.map(({ right }) => right) }
}
