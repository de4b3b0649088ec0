/**
 * Bets of every kind on made-up prices of matches that the ledger records, each with what is right for it. It knows nothing
 * of the reader: what people write stands here in its own words.
 */

import { type Chance, CLOSES, drawFrom, MATCHES, type Match } from './mixed-matches.fixture.ts'

/** What a bet says of its market and selection. `line` is a cell of its own, where a file has one. */
export type Words = { readonly market: string; readonly selection: string; readonly line?: string }

export type Bet = {
  readonly match: Match
  readonly market: string
  readonly selection: string
  readonly words: Words
  /** Decimal. */
  readonly price: number
}

const signed = (line: number): string => (line > 0 ? `+${line}` : String(line))

type Writing = {
  readonly match: Match
  readonly selection: string
  readonly line: number
  readonly chance: Chance
}

const findTeam = ({ match, selection, chance }: Writing): string =>
  drawFrom(chance, selection === 'home' ? match.home : match.away)

/** The line from the side that was backed. */
const backedLine = ({ selection, line }: Writing): number => (selection === 'home' ? line : -line)

const words = (market: string, selection: string, line?: string): Words =>
  line === undefined ? { market, selection } : { market, selection, line }

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

function sideWords(writing: Writing): readonly Words[] {
  const { selection, match } = writing
  if (selection === 'draw')
    return [
      words('1X2', 'X'),
      words('Match Odds', 'The Draw'),
      words('Full Time Result', 'Draw'),
      words('Match Result', 'Draw'),
      words('Match Betting', 'Draw'),
      words('3-Way Moneyline', 'Draw'),
    ]
  const team = findTeam(writing)
  const soccer = [
    '1X2',
    'Match Odds',
    'Full Time Result',
    'Match Result',
    'Match Winner',
    'Match Betting',
    '3-Way Moneyline',
    '',
  ]
  const american = ['Moneyline', 'ML', 'Money Line', 'Match Winner', 'Winner', 'Head to Head', '']
  const names = match.sport === 'soccer' ? soccer : american
  return [
    ...names.map((name) => words(name, team)),
    ...(match.sport === 'soccer'
      ? [
          words('1X2', selection === 'home' ? '1' : '2'),
          words('', `${team} to win`),
          words('Match Odds', capital(selection)),
        ]
      : [
          words('', `${team} ML`),
          words('Moneyline', `${team} ML`),
          words('Moneyline', capital(selection)),
        ]),
  ]
}

function handicapWords(writing: Writing): readonly Words[] {
  const { match } = writing
  const team = findTeam(writing)
  const line = signed(backedLine(writing))
  const soccer = ['Asian Handicap', 'AH', 'Handicap', '']
  const american = {
    american_football: ['Spread', 'Point Spread', 'Handicap', ''],
    baseball: ['Run Line', 'Runline', 'Spread', ''],
    basketball: ['Spread', 'Point Spread', 'Handicap', ''],
    ice_hockey: ['Puck Line', 'Puckline', 'Spread', ''],
  }
  const names = match.sport === 'soccer' ? soccer : american[match.sport]
  const named = names.filter((name) => name !== '').map((name) => words(name, team, line))
  const fitted = [...names.map((name) => words(name, `${team} ${line}`)), ...named]
  if (match.sport !== 'soccer') return [...fitted, words(`Spread ${line}`, team)]
  return [
    ...fitted,
    words('Asian Handicap', `${team} (${line})`),
    ...quarterWords(team, backedLine(writing)),
  ]
}

/** A quarter line as two halves or as a fraction. */
function quarterWords(team: string, line: number): readonly Words[] {
  if (Number.isInteger(line * 2)) return []
  const [low, high] = [line - 0.25, line + 0.25].toSorted(
    (left, right) => Math.abs(left) - Math.abs(right),
  )
  const [near = 0, far = 0] = [low, high]
  const fraction = { 0.25: '¼', 0.75: '¾' }[Math.abs(line)]
  return [
    words('Asian Handicap', `${team} ${signed(near === 0 ? 0 : near)} & ${signed(far)}`),
    words('Asian Handicap', `${team} ${signed(near)}, ${signed(far)}`),
    ...(fraction === undefined
      ? []
      : [words('Asian Handicap', `${team} ${line < 0 ? '-' : '+'}${fraction}`)]),
  ]
}

function totalWords({ match, selection, line }: Writing): readonly Words[] {
  const side = capital(selection)
  const unit = {
    soccer: 'Goals',
    american_football: 'Points',
    baseball: 'Runs',
    basketball: 'Points',
    ice_hockey: 'Goals',
  }[match.sport]
  const sport =
    match.sport === 'soccer'
      ? [
          words('Number of Goals', `${side} ${line}`),
          words('Goals Over/Under', `${side} ${line}`),
          words(`Over/Under ${line} Goals`, `${side} ${line} Goals`),
          words('O/U', `${selection.charAt(0).toUpperCase()}${line}`),
        ]
      : [words('', `${selection.charAt(0)}${line}`), words('Game Total', `${side} ${line}`)]
  return [
    words('Over/Under', `${side} ${line}`),
    words(`Over/Under ${line}`, side),
    words('Total', `${side} ${line}`),
    words(`Total ${unit}`, `${side} ${line}`),
    words('Totals', side, String(line)),
    words('', `${side} ${line}`),
    ...sport,
  ]
}

function yesNoWords({ selection }: Writing): readonly Words[] {
  const answer = capital(selection)
  return [
    words('Both Teams To Score', answer),
    words('BTTS', answer),
    words('Both Teams to Score?', answer),
    words('', `BTTS ${answer}`),
    ...(selection === 'yes' ? [words('Both Teams To Score - Yes', 'Yes')] : []),
  ]
}

function noBetWords(writing: Writing): readonly Words[] {
  const team = findTeam(writing)
  return [
    words('Draw No Bet', team),
    words('DNB', team),
    words('', `${team} DNB`),
    words('Draw No Bet', `${team} (Draw No Bet)`),
  ]
}

function doubleChanceWords({ match, selection, chance }: Writing): readonly Words[] {
  const [home, away] = [drawFrom(chance, match.home), drawFrom(chance, match.away)]
  const written =
    {
      home_draw: ['1X', `${home} or Draw`],
      home_away: ['12', `${home} or ${away}`],
      draw_away: ['X2', `Draw or ${away}`],
    }[selection] ?? []
  return written.flatMap((text) => [words('Double Chance', text), words('DC', text)])
}

const halfWords = (inner: readonly Words[]): readonly Words[] =>
  inner.flatMap(({ market, selection, line }) =>
    market === '' || market.startsWith('Full Time') || line !== undefined
      ? []
      : [
          words(`1st Half ${market}`, selection),
          words(`First Half - ${market}`, selection),
          words(`${market} - 1st Half`, selection),
          words(`${market} (1H)`, selection),
        ],
  )

function teamTotalWords({ match, selection, line, chance }: Writing): readonly Words[] {
  const team = drawFrom(chance, match.home)
  const side = capital(selection)
  return [
    words('Team Total', `${team} ${side} ${line}`),
    words(`${team} Team Total`, `${side} ${line}`),
    words('Home Team Total', `${side} ${line}`),
    ...(match.sport === 'soccer'
      ? [
          words('Home Team Total Goals', `${side} ${line}`),
          words(`${team} Total Goals`, `${side} ${line}`),
        ]
      : []),
  ]
}

/** How each market type is written. */
const WORDS: Readonly<Record<string, (writing: Writing) => readonly Words[]>> = {
  '1x2': sideWords,
  ml: sideWords,
  ah: handicapWords,
  spread: handicapWords,
  total: totalWords,
  team_total: teamTotalWords,
  btts: yesNoWords,
  dnb: noBetWords,
  dc: doubleChanceWords,
}

function wordsFor(market: string, writing: Writing): readonly Words[] {
  const [type = '', period] = market.split('/')
  const plain = WORDS[type]?.(writing)
  if (plain === undefined) throw new Error(`no words for ${market}`)
  if (period === 'h1') return halfWords(plain)
  if (period === 'f5')
    return (
      plain
        // A winner of five innings may be one of three.
        .filter(({ market: name }) => /^(?:Moneyline|Money Line|ML)$/.test(name))
        .map(({ market: name, selection }) => words(`First 5 Innings ${name}`, selection))
    )
  return plain
}

const makeLine = (market: string): number =>
  Number(market.split('/')[2]?.replace(/@.*/, '') ?? Number.NaN)

/** A single bet before its match on a recorded market. */
export function drawBet(chance: Chance, matches: readonly Match[] = MATCHES): Bet {
  const match = drawFrom(chance, matches)
  const [market, closes] = drawFrom(chance, Object.entries(CLOSES[match.sport]))
  const [selection, close] = drawFrom(chance, Object.entries(closes))
  const writing = { match, selection, line: makeLine(market), chance }
  return {
    match,
    market,
    selection,
    words: drawFrom(chance, wordsFor(market, writing)),
    // Within a tenth of the close.
    price: Math.round(close * (0.9 + chance() * 0.2) * 100) / 100,
  }
}
