/**
 * A bet as trackers write it, `Arsenal -0.5` in a column or `Over 2.5 Goals` beside a market's name, as a market, a
 * selection and a line of ours. It fails closed: whatever it does not know by name is a problem, never a guess.
 */
import { canDraw, marketShape, selectionNamed } from '../domain/markets.ts'
import { isSameTeam, plainText } from '../domain/team-names.ts'
import type { Teams } from './tracker-events.ts'
import { problem, type TrackerProblem } from './tracker-problem.ts'

type Bet = {
  readonly sport: string
  /** As written; empty where the file has no such column. */
  readonly market: string
  readonly selection: string
  readonly line: string
  readonly teams: Teams | undefined
}

type Market = {
  readonly type: string
  readonly selection: string
  readonly line?: number
  readonly participant?: string
}

const on = (
  type: string,
  selection: string,
  more: Pick<Market, 'line' | 'participant'> = {},
): Market => ({ type, selection, ...more })

/** Statistics beside the score: a total of corners is not one of goals. */
const OTHER_STATISTICS =
  /corner|card|booking|shot|foul|offside|player|prop|scorer|assist|rebound|yard|touchdown|strikeout|\bhits?\b|\bsets?\b|\baces?\b|first to|to score (?:first|last|anytime)|half ?time ?\/ ?full ?time|ht ?\/ ?ft|margin|odd ?\/ ?even|race to|penalt|qualif|outright|winner without|method|anytime/

const PERIODS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:1st|first) half\b|\b1h\b|\bh1\b|\bhalf ?time\b|\bht\b/, 'h1'],
  [/\b(?:2nd|second) half\b|\b2h\b|\bh2\b/, 'h2'],
  [/\b(?:1st|first) (?:quarter|qtr)\b|\bq1\b|\b1q\b/, 'q1'],
  [/\b(?:2nd|second) (?:quarter|qtr)\b|\bq2\b|\b2q\b/, 'q2'],
  [/\b(?:3rd|third) (?:quarter|qtr)\b|\bq3\b|\b3q\b/, 'q3'],
  [/\b(?:4th|fourth) (?:quarter|qtr)\b|\bq4\b|\b4q\b/, 'q4'],
  [/\b(?:1st|first) (?:5|five)(?: innings?)?\b|\bf5\b/, 'f5'],
]

const FULL_TIME =
  /\b(?:full[- ]?time|ft|match|game|90 ?min(?:ute)?s?|regular time|incl\.? ?(?:ot|overtime))\b/g

/** Names of market types. `winner` is 1x2 where a match can be drawn, and the plain winner elsewhere. */
const TYPES: readonly (readonly [RegExp, string])[] = [
  [/both teams to score|\bbtts\b|\bgg\b|\bbeide teams\b|\bambos\b/, 'btts'],
  [/draw no bet|\bdnb\b|tie no bet/, 'dnb'],
  [/double chance|\bdc\b/, 'dc'],
  [/correct score/, 'cs'],
  [/team total/, 'team_total'],
  [/european handicap|3[- ]way handicap|handicap 3[- ]way|handicap result/, 'unknown'],
  [/handicap|\bah\b|spread|run ?line|puck ?line|\bhcp\b|\bhdp\b/, 'handicap'],
  [
    /over ?\/? ?under|\bo ?\/ ?u\b|totals?|goals? ?line|\bover\b|\bunder\b|total goals|^goals$|^points$|^runs$/,
    'total',
  ],
  [/\bmoney ?line\b|\bml\b/, 'ml'],
  [
    /1x2|1 x 2|match odds|match result|result|winner|to win|\bwin\b|h2h|head to head|3[- ]?way|three way|2[- ]?way|wdl|w-d-w|win-draw-win|90 minutes/,
    'winner',
  ],
]

const DRAWS: ReadonlySet<string> = new Set(
  'draw|the draw|x|d|tie|unentschieden|remis|empate|pareggio|match nul|nul'.split('|'),
)

const NUMBER = String.raw`[+-]?(?:\d+(?:[.,]\d+)?|[.,]\d+)`
/** `-0.5`, `2,5`, `0/-0.5`, `-0.5, -1`, `2.5/3`. */
const LINE = new RegExp(String.raw`(?:^|[\s(])(${NUMBER})(?:\s*[/,]\s*(${NUMBER}))?\)?$`)

const numberOf = (text: string): number => Number(text.replace(',', '.'))

/** A line, or the mean of a split one, whose second half takes the first's sign if it has none. */
function lineOf(first: string, second: string | undefined): number | undefined {
  const one = numberOf(first)
  if (second === undefined) return one
  const isSigned = /^[+-]/.test(second)
  const other = numberOf(second) * (isSigned || !first.startsWith('-') ? 1 : -1)
  return Math.abs(Math.abs(one - other) - 0.5) < 1e-9 ? (one + other) / 2 : undefined
}

const tidy = (text: string): string =>
  plainText(text)
    .replace(/[‒–—−]/g, '-')
    .replace(/½/g, '.5')
    .replace(/\bpk\b|\bpick'?em\b/g, '0')
    .replace(/\s+/g, ' ')
    .trim()

/** A text without its trailing line, and the line. */
function cutLine(text: string): { readonly rest: string; readonly line: number | undefined } {
  const match = LINE.exec(text)
  if (match === null) return { rest: text, line: undefined }
  return { rest: text.slice(0, match.index).trim(), line: lineOf(match[1] ?? '', match[2]) }
}

type Side = 'home' | 'away'

function sideOf(text: string, { sport, teams }: Pick<Bet, 'sport' | 'teams'>): Side | undefined {
  if (['home', '1', 'h', 'hosts'].includes(text)) return 'home'
  if (['away', '2', 'a', 'visitors'].includes(text)) return 'away'
  if (teams === undefined || text === '') return undefined
  const isHome = isSameTeam(sport, teams.home, text)
  const isAway = isSameTeam(sport, teams.away, text)
  return isHome === isAway ? undefined : isHome ? 'home' : 'away'
}

const typeNamed = (text: string): string | undefined =>
  TYPES.find(([pattern]) => pattern.test(text))?.[1]

/** Words that say how a side is backed, not which: `Arsenal to win`, `Arsenal ML`. */
const MANNER =
  /\b(?:to win|money ?line|ml|win|ah|asian handicap|handicap|spread|run line|puck line|dnb|draw no bet|goals?|points?|pts|runs|total|hcp)\b/g

const withoutManner = (text: string): string =>
  text
    .replace(MANNER, ' ')
    .replace(/[()[\]]/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()

const SELECTIONS = 'home, draw or away, a team of the event, or over or under with its line'

/** The line in the cell of lines, otherwise in the market's name. */
const lineBeside = ({ line, market }: Bet): number | undefined =>
  cutLine(withoutManner(line)).line ?? cutLine(withoutManner(market)).line

function readTotal(bet: Bet, text: string): Market | TrackerProblem | undefined {
  const match = /^(.*?)\s*\b(over|under|o|u)\b\s*(.*)$/.exec(
    text.replace(/\b([ou])(?=[\d.])/g, '$1 '),
  )
  if (match === null) return undefined
  const [, before = '', word = '', after = ''] = match
  const selection = word.startsWith('o') ? 'over' : 'under'
  const line = cutLine(withoutManner(after)).line ?? lineBeside(bet)
  if (line === undefined) return problem('line', 'the total that was bet over or under')
  const whose = withoutManner(before)
  if (whose === '') return on('total', selection, { line: Math.abs(line) })
  const participant = sideOf(whose, bet)
  return participant === undefined
    ? problem('selection', 'over or under, or a team of the event before it')
    : on('team_total', selection, { line: Math.abs(line), participant })
}

function readDoubleChance(bet: Bet, text: string): Market | undefined {
  const code = selectionNamed('dc', text.replace(/[\s/]/g, ''))
  if (code !== undefined) return on('dc', code)
  const [one, other, ...more] = text.split(/\s+(?:or|oder|o)\s+|\s*\/\s*/)
  if (one === undefined || other === undefined || more.length > 0) return undefined
  const sides = [one, other].map((part) => (DRAWS.has(part) ? 'draw' : sideOf(part, bet)))
  const selection = marketShape('dc').selections?.find((name) =>
    name.split('_').every((part) => sides.includes(part as Side)),
  )
  return selection === undefined ? undefined : on('dc', selection)
}

function readYesNo(text: string, market: string): Market | TrackerProblem {
  const answer = text.replace(/both teams to score|\bbtts\b/g, '').replace(/[^a-z]/g, '')
  const selection = ['yes', 'y', 'ja', 'si', 'gg'].includes(answer)
    ? 'yes'
    : ['no', 'n', 'nein', 'ng'].includes(answer)
      ? 'no'
      : answer === '' && /\byes\b/.test(market)
        ? 'yes'
        : undefined
  return selection === undefined ? problem('selection', 'yes or no') : on('btts', selection)
}

/** A side of the match, in the type that the market or its line implies. */
function readSide(bet: Bet, text: string, given: string | undefined): Market | TrackerProblem {
  const bare = withoutManner(text)
  // A team's name may end in a number: the whole name first.
  const whole = sideOf(bare, bet)
  const cut = whole === undefined ? cutLine(bare) : { rest: bare, line: undefined }
  const side = whole ?? sideOf(cut.rest, bet)
  const type = given ?? typeNamed(text)
  if (side === undefined) return problem('selection', SELECTIONS)
  const line = cut.line ?? lineBeside(bet)
  const mayDraw = canDraw(bet.sport)
  if (
    type === 'handicap' ||
    (type === undefined && line !== undefined) ||
    (type === 'winner' && cut.line !== undefined)
  ) {
    if (line === undefined) return problem('line', 'the handicap of the team that was backed')
    const home = side === 'home' ? line : -line
    return on(mayDraw ? 'ah' : 'spread', side, { line: home === 0 ? 0 : home })
  }
  if (type === 'dnb' || type === 'ml') return on(type, side)
  if (type === undefined || type === 'winner') return on(mayDraw ? '1x2' : 'ml', side)
  return problem(
    'selection',
    `a selection of that market, not ${side === 'home' ? 'the home' : 'the away'} team`,
  )
}

/** Reads a bet. Never throws. */
export function readBet(written: Bet): (Market & { readonly period: string }) | TrackerProblem {
  const bet = { ...written, market: tidy(written.market), line: tidy(written.line) }
  let text = tidy(written.selection)
  const both = `${bet.market} ${text}`
  if (OTHER_STATISTICS.test(both))
    return problem(
      'market',
      'a market that the final score settles: the ledger has no closes of others',
      'other_market',
    )
  const period = PERIODS.find(([pattern]) => pattern.test(both))?.[1] ?? 'ft'
  for (const [pattern] of PERIODS) {
    text = text.replace(pattern, ' ').replace(/\s+/g, ' ').trim()
    bet.market = bet.market.replace(pattern, ' ').replace(/\s+/g, ' ').trim()
  }
  const named = typeNamed(bet.market)
  if (
    named === 'unknown' ||
    (named === undefined && /\p{L}{3}/u.test(bet.market.replace(FULL_TIME, '')))
  )
    return problem(
      'market',
      'a market such as 1X2, Asian handicap, over/under or both teams to score',
    )
  if (text === '') return problem('selection', SELECTIONS)
  const read = readSelection(bet, text, named)
  return 'expected' in read ? read : { ...read, period }
}

/** A selection of a market of the type `named`, or of the market that the selection itself names. */
function readSelection(bet: Bet, text: string, named: string | undefined): Market | TrackerProblem {
  const inText = typeNamed(text)
  const type = named ?? (inText === 'btts' || inText === 'dnb' ? inText : undefined)
  if (type === 'btts') return readYesNo(text, bet.market)
  if (type === 'cs')
    return /^\d+ ?[-:] ?\d+$/.test(text)
      ? on('cs', text.replace(/ ?[-:] ?/, '-'))
      : problem('selection', 'a score such as 2-1')
  if (DRAWS.has(withoutManner(text)) && (type === undefined || type === 'winner' || type === 'ml'))
    return on('1x2', 'draw')
  if (type === 'dc' || (type === undefined && /\bor\b|^(?:1x|12|x2)$/.test(text)))
    return (
      readDoubleChance(bet, text) ??
      problem('selection', '1X, 12 or X2, or two of the teams and the draw')
    )
  return readTotal(bet, text) ?? readSide(bet, text, type)
}
