/**
 * A bet as trackers write it, `Arsenal -0.5` in a column or `Over 2.5 Goals` beside a market's name, as a market, a
 * selection and a line of ours. It fails closed (G19): every word of the market's name, of the selection and of the line
 * must be accounted for and agree with the others. Whatever is left over is a problem, never a guess.
 */
import { canDraw, type MarketType, marketShape, ownValue, periodOf } from '../domain/markets.ts'
import type { RowCode } from '../wire/card-codes.ts'
import phrases from './market-phrases.json' with { type: 'json' }
import { type MarketWord, readWords } from './market-words.ts'
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
  readonly period: string
  readonly selection: string
  readonly line?: number
  readonly participant?: string
}

type Line = Extract<MarketWord, { kind: 'line' }>

/** What one text says. */
type Said = {
  /** Of `type`, `side`, `over`, `period` and so on, each value that it names. */
  readonly values: (name: string) => readonly string[]
  readonly lines: readonly Line[]
  readonly scores: readonly string[]
}

const SELECTIONS = 'home, draw or away, a team of the event, or over or under with its line'

const notRecorded = (what: string, code: RowCode = 'other_market'): TrackerProblem =>
  problem('market', `a market that the ledger records, not ${what}`, code)

/** Longest part of a file that an answer repeats. */
const REPEATED_CHARACTERS_MAX = 40

/** What a text says, or the first word of it that has no place in a bet that is graded. */
function saidIn(words: readonly MarketWord[], field: string): Said | TrackerProblem {
  const named = new Map<string, Set<string>>()
  const lines: Line[] = []
  const scores: string[] = []
  let unknown: string | undefined
  for (const word of words) {
    if (word.kind === 'notRecorded') return notRecorded(word.what, word.code)
    if (word.kind === 'unknown') unknown ??= word.text
    else if (word.kind === 'line') lines.push(word)
    else if (word.kind === 'score') scores.push(word.score)
    else {
      const means = word.kind === 'team' ? [`side:${word.side}`] : word.means
      for (const meaning of means) {
        const [name = '', value = ''] = meaning.split(':')
        if (name === 'level') lines.push({ kind: 'line', line: 0, isSigned: true })
        if (name === 'versus') unknown ??= 'v'
        named.set(name, (named.get(name) ?? new Set()).add(value))
      }
    }
  }
  if (unknown !== undefined) {
    const shown = unknown.slice(0, REPEATED_CHARACTERS_MAX)
    return field === 'selection'
      ? problem('selection', `${SELECTIONS}: “${shown}” is none of them`)
      : problem(field, `a market whose every word is known: “${shown}” is not`)
  }
  return { values: (name) => [...(named.get(name) ?? [])], lines, scores }
}

/** A bet's three texts, and what they say together. */
type Reading = {
  readonly sport: string
  readonly market: Said
  readonly selection: Said
  readonly cell: Said
  readonly all: (name: string) => readonly string[]
}

function readTexts({ sport, teams, ...texts }: Bet): Reading | TrackerProblem {
  const read = (field: keyof typeof texts) =>
    saidIn(readWords(texts[field], { sport, teams, hasCodes: field === 'selection' }), field)
  const market = read('market')
  if ('expected' in market) return market
  const selection = read('selection')
  if ('expected' in selection) return selection
  const cell = read('line')
  if ('expected' in cell) return cell
  const all = (name: string) => [
    ...new Set([market, selection, cell].flatMap(({ values }) => values(name))),
  ]
  return { sport, market, selection, cell, all }
}

const TOTALS: readonly (string | undefined)[] = ['total', 'team_total']
const HANDICAPS: readonly (string | undefined)[] = ['handicap', 'ah']

const COMBINED = notRecorded('a combination of two markets')

/** The one market that all texts name, undefined if none does. */
function typeIn({ all, market, selection }: Reading): string | undefined | TrackerProblem {
  // `Match Winner (Draw No Bet)`: one name says less than the other.
  const refinedBy: Readonly<Record<string, readonly string[]>> = phrases.refinedBy
  const names = new Set(all('type'))
  const isCounted = market.values('unit').length > 0 && market.values('type').length === 0
  if (all('over').length > 0 || isCounted) names.add('total')
  if (all('or').length > 0 || all('dc').length > 0) names.add('dc')
  const [type, ...others] = [...names].filter(
    (name) => !(refinedBy[name] ?? []).some((finer) => names.has(finer)),
  )
  if (others.length > 0)
    return problem('market', `one market: the row names ${[type, ...others].join(' and ')}`)
  if (selection.scores.length > 0 && type !== 'cs')
    return notRecorded('a score of another market than the correct score')
  // `Arsenal/Draw` is a double chance if the row says so, and half-time/full-time elsewhere.
  const isJoined = market.values('mark').includes('/')
  if (isJoined || (selection.values('mark').includes('/') && type !== 'dc')) return COMBINED
  return type
}

const SETS_LINES_MAX = { total: 5.5, handicap: 2.5 }

/** Goals are counted in football, points in basketball; a tennis line may be of games or of sets. */
function unitProblem({ all, sport }: Reading, type: string | undefined, line: number) {
  const isTotal = TOTALS.includes(type)
  const units: Readonly<Record<string, readonly string[]>> = phrases.units
  const strange = all('unit').find((unit) => !(units[unit] ?? []).includes(sport))
  if (strange !== undefined) return notRecorded(`a count of ${strange} in this sport`)
  const isInSets = phrases.playedInSets.includes(sport) && all('unit').length === 0
  if (isInSets && Math.abs(line) <= (isTotal ? SETS_LINES_MAX.total : SETS_LINES_MAX.handicap))
    return problem('market', 'a line that says what it counts: games, not sets', 'unclear')
  return undefined
}

function periodIn({ all, sport }: Reading, type: MarketType): string | TrackerProblem {
  const named = all('period')
  const parts = named.filter((period) => period !== 'full' || named.length === 1)
  const [part] = parts
  if (parts.length > 1 || (named.includes('full') && part !== 'full'))
    return problem('market', 'one part of the match')
  const whole = periodOf(sport, type, 'ft')
  const regulation = ownValue<string>(phrases.regulationMinutes, sport)
  if (all('minutes').some((minutes) => minutes !== regulation))
    return notRecorded('a part of the match that it has no prices of')
  if (part === 'ot' && (canDraw(sport) || whole === 'reg'))
    return notRecorded('one with extra time')
  if (part === 'reg') return canDraw(sport) ? 'ft' : 'reg'
  if (part === undefined || part === 'full' || part === 'ot') return whole
  return part
}

/** The handicap or total: in the selection, the column of lines or the market's name, where they agree. */
function lineIn(
  { market, selection, cell }: Reading,
  isSame: (one: number, other: number) => boolean,
) {
  const lines = [selection, cell, market].flatMap((said) => said.lines)
  const isEach = [selection, cell, market].every((said) => said.lines.length <= 1)
  const [line, ...others] = lines
  if (line === undefined) return undefined
  return isEach && others.every((other) => isSame(line.line, other.line)) ? line : 'several'
}

const SEVERAL_LINES = problem('line', 'one line: the row has several that differ')

function readTotal(reading: Reading, type: string): Market | TrackerProblem {
  const { all, market, selection } = reading
  const [over, ...others] = all('over')
  if (over === undefined || others.length > 0) return problem('selection', 'over or under')
  const isInSelection = selection.values('over').length > 0
  const hasOther = selection.values('side').length > 0 || selection.values('answer').includes('no')
  if (!isInSelection && (hasOther || market.values('over').length === 0))
    return problem('selection', 'over or under, as the market’s name has it')
  if (all('answer').length > 0 && isInSelection) return problem('selection', 'over or under')
  const [whose, ...more] = all('side')
  if (more.length > 0 || whose === 'draw' || (type === 'team_total' && whose === undefined))
    return problem('selection', 'over or under, or a team of the event before it')
  // `Arsenal, Over 2.5` is a win and a total.
  if (selection.values('side').length + selection.values('mark').length > 1) return COMBINED
  const line = lineIn(reading, (one, other) => Math.abs(one) === Math.abs(other))
  if (line === 'several') return SEVERAL_LINES
  if (line === undefined) return problem('line', 'the total that was bet over or under')
  const unit = unitProblem(reading, type, line.line)
  if (unit !== undefined) return unit
  const kind = whose === undefined ? 'total' : 'team_total'
  const period = periodIn(reading, kind)
  if (typeof period !== 'string') return period
  const participant = whose === undefined ? {} : { participant: whose }
  return { type: kind, period, selection: over, line: Math.abs(line.line), ...participant }
}

function readDoubleChance({ all, selection }: Reading): string | TrackerProblem {
  const wanted = problem('selection', '1X, 12 or X2, or two of the teams and the draw')
  const [code, ...codes] = all('dc')
  const sides = selection.values('side')
  if (code !== undefined) return codes.length === 0 && sides.length === 0 ? code : wanted
  if (sides.length !== 2) return wanted
  const names = marketShape('dc').selections ?? []
  return names.find((name) => name.split('_').every((side) => sides.includes(side))) ?? wanted
}

function readScore({ all, market, selection }: Reading): string | TrackerProblem {
  const [score, ...others] = selection.scores
  const [side, ...sides] = all('side')
  const isOfTeam = market.values('side').length > 0
  if (score === undefined || isOfTeam || others.length > 0 || sides.length > 0)
    return problem('selection', 'a score such as 2-1')
  const [home = 0, away = 0] = score.split('-').map(Number)
  const isWinner = { home: home > away, draw: home === away, away: false }
  // `Chelsea 2-1` may be Chelsea’s goals first.
  return side === undefined || isWinner[side as keyof typeof isWinner]
    ? `${home}-${away}`
    : problem('selection', 'a score with the home team’s goals first, such as 1-2')
}

/** A bet that has no line: a total of zero is how some files leave the cell empty. */
function readWithoutLine(reading: Reading, type: MarketType): Market | TrackerProblem {
  const { all, cell, market, selection } = reading
  const isLineless =
    [...market.lines, ...selection.lines].length === 0 && cell.lines.every(({ line }) => line === 0)
  if (!isLineless) return problem('line', 'no line: the market that the row names has none')
  if (all('unit').length + all('lines').length > 0)
    return problem('market', 'one market: goals and lines belong to totals and handicaps')
  const period = periodIn(reading, type)
  if (typeof period !== 'string') return period
  if (type === 'btts') {
    const own = selection.values('answer')
    const [answer, ...others] = own.length > 0 ? own : market.values('answer')
    return answer === undefined || others.length > 0 || all('side').length > 0
      ? problem('selection', 'yes or no')
      : { type, period, selection: answer }
  }
  const answer =
    type === 'dc' ? readDoubleChance(reading) : type === 'cs' ? readScore(reading) : backed(reading)
  if (typeof answer !== 'string') return answer
  if (type === 'dnb' && answer === 'draw') return problem('selection', 'home or away')
  if (type !== 'dc' && type !== 'cs') return { type, period, selection: answer }
  return all('answer').length > 0
    ? problem('selection', 'the bet itself, not yes or no')
    : { type, period, selection: answer }
}

/** The side that was backed: the selection’s, or the one of `Arsenal to win`, answered with yes. */
function backed({ all, selection }: Reading): string | TrackerProblem {
  const [side, ...others] = all('side')
  const answers = all('answer')
  const isOwn = selection.values('side').length > 0
  if (side === undefined || others.length > 0) return problem('selection', SELECTIONS)
  const isAnswered = isOwn ? answers.length === 0 : answers.join() === 'yes'
  return isAnswered ? side : problem('selection', SELECTIONS)
}

const WHICH_WAY = problem('market', 'Moneyline, or 3-way: this name may be either', 'unclear')

/** What a side without a line is on, by the market's name, the sport and the part of the match. */
function sideType({ all, sport }: Reading, type: string | undefined): MarketType | TrackerProblem {
  const isDraw = all('side').includes('draw')
  const isPart = all('period').some((period) => /^[hqpfi]\d/.test(period))
  if (type === 'dnb' || type === '1x2') return type
  if (isDraw || (canDraw(sport) && type !== 'ml')) return '1x2'
  if (canDraw(sport) || type === 'ml' || type === 'h2h')
    // A moneyline of regulation is sold with the draw and without it.
    return all('period').includes('reg') && !canDraw(sport) ? WHICH_WAY : 'ml'
  if (all('period').includes('reg')) return '1x2'
  if (isPart || (type === 'result' && sport === 'ice_hockey')) return WHICH_WAY
  return 'ml'
}

/** `Lions -110` is a price. */
const AMERICAN_ODDS_MIN = 100

const WITH_DRAW_HANDICAP = notRecorded('a handicap with a draw')

/** `Asian Handicap -0.5` names both sides' market: whether Chelsea then has -0.5 or +0.5, no file says. */
const WHOSE_LINE = problem(
  'line',
  'the line beside the team that was backed: the market’s may be the home team’s',
  'unclear',
)

function readHandicap(reading: Reading, type: string | undefined): Market | TrackerProblem {
  const { all, cell, market, selection, sport } = reading
  const [side, ...others] = all('side')
  if (all('side').includes('draw')) return WITH_DRAW_HANDICAP
  if (side === undefined || others.length > 0 || selection.values('side').length === 0)
    return problem('selection', SELECTIONS)
  if (all('answer').length > 0) return problem('selection', SELECTIONS)
  const [own] = selection.lines
  const isFromHome = own !== undefined && side === 'away'
  const isSame = (one: number, other: number) => one === other || (isFromHome && one === -other)
  const line = lineIn(reading, isSame)
  if (line === 'several') return SEVERAL_LINES
  if (line === undefined) return problem('line', 'the handicap of the team that was backed')
  // A sheet's column of lines drops the plus of a number; a column that no market explains may hold anything.
  const isWritten = own !== undefined || market.lines.length > 0
  const isOfMarket = cell.lines.length + selection.lines.length + market.values('side').length === 0
  if (canDraw(sport) && isOfMarket && side === 'away' && line.line !== 0) return WHOSE_LINE
  const isClear = line.isSigned || (isWritten ? line.line === 0 : type !== undefined)
  if (!isClear) return problem('line', 'a handicap with its sign, + or -', 'unclear')
  if (Math.abs(line.line) >= AMERICAN_ODDS_MIN) return problem('line', 'a handicap, not a price')
  const isWhole = Number.isInteger(line.line) && line.line !== 0
  if (canDraw(sport) && type !== 'ah' && isWhole)
    return problem(
      'market',
      'Asian handicap: with a whole line “Handicap” may be one with a draw',
      'unclear',
    )
  const unit = unitProblem(reading, type, line.line)
  if (unit !== undefined) return unit
  const kind = canDraw(sport) ? 'ah' : 'spread'
  const period = periodIn(reading, kind)
  if (typeof period !== 'string') return period
  const home = side === 'home' ? line.line : -line.line
  return { type: kind, period, selection: side, line: home === 0 ? 0 : home }
}

/** Reads a bet. Never throws. */
export function readBet(bet: Bet): Market | TrackerProblem {
  const reading = readTexts(bet)
  if ('expected' in reading) return reading
  const { cell, market, selection, sport } = reading
  if (bet.selection.trim() === '') return problem('selection', SELECTIONS)
  if (market.scores.length + cell.scores.length > 0)
    // `Handicap 0:1` gives a start, `1X2 (1-0)` says what stood when the bet was placed.
    return market.values('type').includes('handicap')
      ? WITH_DRAW_HANDICAP
      : notRecorded('a bet in play: a score is part of its name', 'in_play')
  const type = typeIn(reading)
  if (typeof type === 'object') return type
  if (
    market.values('side').length > 0 &&
    market.values('type').length + market.values('over').length + market.values('unit').length === 0
  )
    return problem('market', 'a market: the name of a side is none')
  if (TOTALS.includes(type)) return readTotal(reading, type ?? '')
  const hasLine = [...selection.lines, ...cell.lines].length > 0 && type === undefined
  if (HANDICAPS.includes(type) || hasLine) return readHandicap(reading, type)
  if (type === 'btts' || type === 'cs')
    return canDraw(sport)
      ? readWithoutLine(reading, type)
      : notRecorded(
          type === 'cs' ? 'a correct score in this sport' : 'both teams to score in this sport',
        )
  const named = type === 'dc' ? type : sideType(reading, type)
  return typeof named === 'string' ? readWithoutLine(reading, named) : named
}
