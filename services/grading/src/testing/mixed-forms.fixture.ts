/** The headers of docs/how-to/audit-a-tracker-file.md, and how each writes a bet. */
import type { Bet, Words } from './mixed-bets.fixture.ts'
import { type Chance, drawFrom } from './mixed-matches.fixture.ts'

/** What is right for a row: its market and selection, or that it is named and not graded. */
export type Right =
  | {
      readonly kind: 'graded'
      readonly market: string
      readonly selection: string
      readonly price: number
      /** Whether a question is right, too: the record does not say clearly which game it was. */
      readonly mayAsk: boolean
    }
  | { readonly kind: 'named'; readonly because: string }

/** A row before a header writes it. */
export type Row = {
  /** Its place in the file. */
  readonly number: number
  readonly bet: Bet
  readonly words: Words
  /** Decimal. */
  readonly price: number
  /** The price as the file has it. */
  readonly odds: string
  /** What the file calls its notation. */
  readonly notation: string
  readonly startAtSeconds: number
  readonly placedAtSeconds: number
  readonly league: string
  readonly type: string
  readonly isLive: boolean
  readonly side: string
  readonly right: Right
}

const HOUR_SECONDS = 3_600

const iso = (seconds: number): string => new Date(seconds * 1_000).toISOString()
const day = (seconds: number): string => iso(seconds).slice(0, 10)
const clock = (seconds: number): string => iso(seconds).slice(11, 16)
const dayFirst = (seconds: number): string => day(seconds).split('-').toReversed().join('/')
const monthFirst = (seconds: number): string => {
  const [year, month, date] = day(seconds).split('-')
  return `${month}/${date}/${year}`
}
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
/** `23-Apr-24 20:00`. */
const exchangeTime = (seconds: number): string => {
  const [year = '', month, date] = day(seconds).split('-')
  return `${date}-${MONTHS[Number(month) - 1]}-${year.slice(2)} ${clock(seconds)}`
}

/** The nearest American price, and what it is in decimal. */
function american(price: number): Written {
  const whole = price >= 2 ? Math.round((price - 1) * 100) : -Math.round(100 / (price - 1))
  return {
    text: whole > 0 ? `+${whole}` : String(whole),
    price: whole > 0 ? 1 + whole / 100 : 1 - 100 / whole,
  }
}

type Written = { readonly text: string; readonly price: number }

/** How a file writes its prices. */
type Notation = {
  /** What a column of notations calls it. */
  readonly names: readonly string[]
  /** The text of a decimal price, and what that text is in decimal. */
  readonly write: (price: number) => Written
}

const DECIMAL: Notation = {
  names: ['Decimal', 'EU', 'DEC'],
  write: (price) => ({ text: price.toFixed(2), price: Number(price.toFixed(2)) }),
}
const AMERICAN: Notation = { names: ['American', 'US'], write: american }
/** As a header `Odds (US)` lets a person leave out the plus. */
const UNSIGNED: Notation = {
  names: [],
  write: (price) => ({ ...american(price), text: american(price).text.replace('+', '') }),
}
/** As a spreadsheet writes whole numbers. */
const FLOATING: Notation = {
  names: [],
  write: (price) => ({ ...american(price), text: `${Number(american(price).text)}.0` }),
}
const profit = (price: number): Written => ({
  text: (price - 1).toFixed(2),
  price: 1 + Number((price - 1).toFixed(2)),
})
const perUnitWon = (price: number): Written => {
  const text = (-1 / (price - 1)).toFixed(2)
  return { text, price: 1 - 1 / Number(text) }
}
const ASIAN: readonly Notation[] = [
  { names: ['HK', 'Hong Kong'], write: profit },
  {
    names: ['ID', 'Indonesian'],
    write: (price) => (price >= 2 ? profit(price) : perUnitWon(price)),
  },
  { names: ['MY', 'Malay'], write: (price) => (price <= 2 ? profit(price) : perUnitWon(price)) },
]

export type Form = {
  readonly name: string
  readonly header: string
  /** What a row cannot say in this header: such a fault would be invisible in it. */
  readonly says: {
    readonly live: boolean
    readonly type: boolean
    readonly side: boolean
    readonly placed: boolean
    readonly market: boolean
    readonly league: boolean
    readonly day: boolean
  }
  readonly notations: readonly Notation[]
  readonly needsMarket?: boolean
  readonly cells: (row: Row, chance: Chance) => readonly string[]
}

const pair = ({ match }: Bet, chance: Chance): string => {
  const [home, away] = [drawFrom(chance, match.home), drawFrom(chance, match.away)]
  if (match.sport === 'soccer')
    return `${home} ${drawFrom(chance, ['v', 'vs', 'vs.', '-'])} ${away}`
  return `${away} @ ${home}`
}
const sport = ({ match }: Bet): string =>
  ({
    soccer: 'Soccer',
    american_football: 'Football',
    baseball: 'Baseball',
    basketball: 'Basketball',
    ice_hockey: 'Hockey',
  })[match.sport]
const EXCHANGE_SPORTS = {
  soccer: 'Football',
  american_football: 'American Football',
  baseball: 'Baseball',
  basketball: 'Basketball',
  ice_hockey: 'Ice Hockey',
}
const withLine = ({ selection, line }: Words): string =>
  line === undefined ? selection : `${selection} ${line}`

const EVERYTHING = {
  live: true,
  type: true,
  side: true,
  placed: true,
  market: true,
  league: true,
  day: true,
}

export const FORMS: readonly Form[] = [
  {
    name: 'a sheet of two team columns',
    header: 'Date,League,Home,Away,Market,Selection,Line,Odds,Live Bet,Type,Side,Placed at',
    says: EVERYTHING,
    notations: [DECIMAL],
    cells: (
      { bet: { match }, words, odds, startAtSeconds, placedAtSeconds, league, type, isLive, side },
      chance,
    ) => [
      `${dayFirst(startAtSeconds)} ${clock(startAtSeconds)}`,
      league,
      drawFrom(chance, match.home),
      drawFrom(chance, match.away),
      words.market,
      words.selection,
      words.line ?? '',
      odds,
      isLive ? drawFrom(chance, ['Y', 'Yes', 'TRUE', '1', 'x']) : drawFrom(chance, ['', 'N', 'No']),
      type,
      side,
      `${dayFirst(placedAtSeconds)} ${clock(placedAtSeconds)}`,
    ],
  },
  {
    name: 'aussportsbetting.com’s worksheet',
    header:
      'Date,Bookmaker,Sport / League,Selection,Bet Type,Tipper,Time of Line,Fixture / Event,Live Bet,Score / Result,Stake,Odds (US),FB,Win,Lay Bet?',
    says: { ...EVERYTHING, type: false, placed: false },
    notations: [AMERICAN, UNSIGNED],
    cells: (row, chance) => [
      monthFirst(row.startAtSeconds),
      'Bookie',
      row.league,
      withLine(row.words),
      row.words.market,
      '',
      '',
      pair(row.bet, chance),
      row.isLive ? 'Y' : 'N',
      '',
      '1',
      row.odds,
      'N',
      'W',
      row.side === '' ? 'N' : 'Y',
    ],
  },
  {
    name: 'sheets with closing lines',
    header:
      'Date,Start Time,Sport,League,Market,Event/Match,Bet,Odds,Stake,Bookmaker,Bet ID#,Result',
    says: { ...EVERYTHING, live: false, type: false, side: false, placed: false },
    notations: [DECIMAL],
    cells: (row, chance) => [
      day(row.startAtSeconds),
      clock(row.startAtSeconds),
      sport(row.bet),
      row.league,
      row.words.market,
      pair(row.bet, chance),
      withLine(row.words),
      row.odds,
      '10',
      'bet365',
      String(row.number),
      'W',
    ],
  },
  {
    name: 'small trackers',
    header: 'date,sport,book,type,team_or_player,odds_american,stake,result,event,market',
    says: { ...EVERYTHING, live: false, side: false, placed: false },
    notations: [AMERICAN, FLOATING],
    cells: (row, chance) => [
      day(row.startAtSeconds),
      row.league,
      'DK',
      row.type,
      withLine(row.words),
      row.odds,
      '50',
      'L',
      pair(row.bet, chance),
      row.words.market,
    ],
  },
  {
    name: 'Betfair’s betting P&L',
    header:
      'Market,Selection,Bid type,Avg. odds matched,Stake (£),Start time,Settled date,Profit/Loss (£)',
    says: { ...EVERYTHING, live: false, type: false, placed: false, league: false },
    notations: [DECIMAL],
    needsMarket: true,
    cells: (row, chance) => [
      `${EXCHANGE_SPORTS[row.bet.match.sport]} / ${pair(row.bet, chance)} : ${row.words.market}`,
      withLine(row.words),
      row.side === '' ? 'Back' : row.side,
      row.odds,
      '10.00',
      exchangeTime(row.startAtSeconds),
      exchangeTime(row.startAtSeconds + 2 * HOUR_SECONDS),
      '-10',
    ],
  },
  {
    name: 'Pikkit',
    header:
      'bet_id,sportsbook,type,status,odds,closing_line,ev,amount,profit,time_placed,time_settled,time_placed_iso,time_settled_iso,bet_info,tags,sports,leagues',
    says: { ...EVERYTHING, side: false, placed: false, market: false, day: false },
    notations: [DECIMAL],
    cells: (row, chance) => [
      `b${row.number}`,
      'Novig',
      row.type === '' ? 'straight' : row.type,
      'SETTLED_LOSS',
      row.odds,
      '',
      '',
      '25',
      '-25',
      '',
      '',
      iso(row.placedAtSeconds),
      '',
      `${withLine(row.words)} ${row.words.market} ${drawFrom(chance, row.bet.match.away)} @ ${drawFrom(chance, row.bet.match.home)}`,
      row.isLive ? drawFrom(chance, ['live', 'Live, NBA']) : '',
      sport(row.bet),
      row.league,
    ],
  },
  {
    name: 'a sheet that names the notation of each price',
    header: 'Date,Home,Away,Market,Selection,Odds,Odds Type,Bet Type',
    says: { ...EVERYTHING, live: false, side: false, placed: false, league: false },
    notations: [DECIMAL, AMERICAN, ...ASIAN],
    cells: (row, chance) => [
      `${day(row.startAtSeconds)} ${clock(row.startAtSeconds)}`,
      drawFrom(chance, row.bet.match.home),
      drawFrom(chance, row.bet.match.away),
      row.words.market,
      withLine(row.words),
      row.odds,
      row.notation,
      row.type,
    ],
  },
]
