/**
 * A bet as trackers write it, `Arsenal -0.5` in a column or `Over 2.5 Goals` beside a market's name, as a market, a
 * selection and a line of ours. It fails closed (G19): every word of the market's name, of the selection, of the line and
 * of the columns beside them must be accounted for and agree with the others. Whatever is left over is a problem, never a
 * guess.
 */
import { isDeepStrictEqual } from 'node:util'
import { getOrMake } from '@tallystick/service-kit'
import {
  canDraw,
  type MarketType,
  marketPeriod,
  marketShape,
  ownValue,
} from '../domain/markets/markets.ts'
import { plainText, sportNamed } from '../domain/markets/team-names.ts'
import type { RowCode } from '../wire/card-codes.ts'
import phrases from './market-phrases.json' with { type: 'json' }
import { readWords, type Said, valuesIn } from './market-words.ts'
import { splitTags, type TrackerCells } from './tracker-columns.ts'
import { backedSide, sideNamed, type Teams } from './tracker-events.ts'
import { problem, type TrackerProblem } from './tracker-problem.ts'

type Bet = {
  readonly sport: string
  /** As written; empty where the file has no such column. */
  readonly market: string
  readonly selection: string
  readonly line: string
  readonly teams: Teams | undefined
}

/** What a bet is on, before its part of the match. */
type Backed = {
  readonly type: MarketType
  readonly selection: string
  readonly line?: number
  readonly participant?: string
}

type Market = Backed & { readonly period: string }

const SELECTIONS = 'home, draw or away, a team of the event, or over or under with its line'
const NO_SELECTION = problem('selection', SELECTIONS)

const notRecorded = (what: string, code: RowCode = 'other_market'): TrackerProblem =>
  problem('market', `a market that the ledger records, not ${what}`, code)

/** Longest part of a file that an answer repeats. */
const REPEATED_CHARACTERS_MAX = 40

/** The first word of a text that has no place in a bet that is graded. */
function strayWord(field: string, said: Said): TrackerProblem | undefined {
  const [refused] = said.notRecorded
  if (refused !== undefined) return notRecorded(refused.what, refused.code)
  const [unknown] = [...said.unknown, ...(said.means.includes('versus') ? ['v'] : [])]
  if (unknown === undefined) return undefined
  const shown = unknown.slice(0, REPEATED_CHARACTERS_MAX)
  return field === 'selection'
    ? problem('selection', `${SELECTIONS}: “${shown}” is none of them`)
    : problem(field, `a market whose every word is known: “${shown}” is not`)
}

/** A bet's three texts, and what they say together; `cell` is the column of lines. */
type Reading = Exclude<ReturnType<typeof readTexts>, TrackerProblem>

function readTexts({ sport, teams, ...texts }: Bet) {
  const market = readWords(texts.market, { sport, teams })
  const selection = readWords(texts.selection, { sport, teams }, true)
  const cell = readWords(texts.line, { sport, teams })
  const stray =
    strayWord('market', market) ?? strayWord('selection', selection) ?? strayWord('line', cell)
  const means = [market, selection, cell].flatMap((said) => said.means)
  return stray ?? { sport, market, selection, cell, all: valuesIn(means) }
}

/** The value, if there is one and no other. */
const single = (values: readonly string[]): string | undefined =>
  values.length === 1 ? values[0] : undefined

const COMBINED = notRecorded('a combination of two markets')
const WITH_DRAW_HANDICAP = notRecorded('a handicap with a draw')

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
  return isJoined || (selection.values('mark').includes('/') && type !== 'dc') ? COMBINED : type
}

/** In tennis, longer lines are of games. */
const SETS_LINES_MAX = { total: 5.5, handicap: 2.5 }

/** Goals are counted in football, points in basketball; a tennis line may be of games or of sets. */
function unitProblem({ all, sport }: Reading, { line, type }: Backed): TrackerProblem | undefined {
  if (line === undefined)
    return all('unit').length + all('lines').length > 0
      ? problem('market', 'one market: goals and lines belong to totals and handicaps')
      : undefined
  const units: Readonly<Record<string, readonly string[]>> = phrases.units
  const strange = all('unit').find((unit) => !(units[unit] ?? []).includes(sport))
  if (strange !== undefined) return notRecorded(`a count of ${strange} in this sport`)
  const ofSetsMax = SETS_LINES_MAX[type.endsWith('total') ? 'total' : 'handicap']
  const isUnclear = phrases.playedInSets.includes(sport) && all('unit').length === 0
  return isUnclear && Math.abs(line) <= ofSetsMax
    ? problem('market', 'a line that says what it counts: games, not sets', 'unclear')
    : undefined
}

function periodIn({ all, sport }: Reading, type: MarketType): string | TrackerProblem {
  const named = all('period')
  const parts = named.filter((period) => period !== 'full' || named.length === 1)
  const [part] = parts
  if (parts.length > 1 || (named.includes('full') && part !== 'full'))
    return problem('market', 'one part of the match')
  const whole = marketPeriod(sport, type, 'ft')
  const regulation = ownValue<string>(phrases.regulationMinutes, sport)
  if (all('minutes').some((minutes) => minutes !== regulation))
    return notRecorded('a part of the match that it has no prices of')
  if (part === 'ot' && (canDraw(sport) || whole === 'reg'))
    return notRecorded('one with extra time')
  if (part === 'reg') return canDraw(sport) ? 'ft' : 'reg'
  return part === undefined || part === 'full' || part === 'ot' ? whole : part
}

/** The line of the selection, the column of lines and the market's name, where they agree; a problem that says `expected` if there is none. */
function lineIn(
  { market, selection, cell }: Reading,
  isSame: (line: number, other: number) => boolean,
  expected: string,
) {
  const texts = [selection, cell, market]
  const [line, ...others] = texts.flatMap(({ lines }) => lines)
  if (line === undefined) return problem('line', expected)
  const isAgreed = others.every((other) => isSame(line.line, other.line))
  return isAgreed && texts.every(({ lines }) => lines.length <= 1)
    ? line
    : problem('line', 'one line: the row has several that differ')
}

const isSameSize = (line: number, other: number) => Math.abs(line) === Math.abs(other)

function readTotal(reading: Reading, type: string): Backed | TrackerProblem {
  const { all, market, selection } = reading
  const [over, sides] = [single(all('over')), all('side')]
  const isOwn = selection.values('over').length > 0
  const hasOther = selection.values('side').length > 0 || selection.values('answer').includes('no')
  if (over === undefined || (isOwn && all('answer').length > 0))
    return problem('selection', 'over or under')
  if (!isOwn && (hasOther || market.values('over').length === 0))
    return problem('selection', 'over or under, as the market’s name has it')
  const [participant] = sides
  if (sides.length > 1 || participant === 'draw' || (type === 'team_total' && sides.length === 0))
    return problem('selection', 'over or under, or a team of the event before it')
  // `Arsenal, Over 2.5` is a win and a total.
  if (selection.values('side').length + selection.values('mark').length > 1) return COMBINED
  const line = lineIn(reading, isSameSize, 'the total that was bet over or under')
  if ('expected' in line) return line
  const total = { selection: over, line: Math.abs(line.line) }
  return participant === undefined
    ? { type: 'total', ...total }
    : { type: 'team_total', ...total, participant }
}

function readAnswer({ all, market, selection }: Reading): string | TrackerProblem {
  const own = selection.values('answer')
  const answer = single(own.length > 0 ? own : market.values('answer'))
  return answer === undefined || all('side').length > 0 ? problem('selection', 'yes or no') : answer
}

function readDoubleChance({ all, selection }: Reading): string | TrackerProblem {
  const sides = selection.values('side')
  const names = marketShape('dc').selections ?? []
  const [code] = all('dc')
  const chance = code ?? names.find((name) => name.split('_').every((side) => sides.includes(side)))
  const isClear =
    all('answer').length === 0 && all('dc').length <= 1 && sides.length === (code ? 0 : 2)
  return chance !== undefined && isClear
    ? chance
    : problem('selection', '1X, 12 or X2, or two of the teams and the draw')
}

function readScore({ all, market, selection }: Reading): string | TrackerProblem {
  const [score, ...others] = selection.scores
  const sides = all('side')
  const isMore = [...others, ...sides.slice(1), ...market.values('side'), ...all('answer')]
  if (score === undefined || isMore.length > 0) return problem('selection', 'a score such as 2-1')
  const [home = 0, away = 0] = score.split('-').map(Number)
  const wonBy = home > away ? 'home' : home === away ? 'draw' : undefined
  // `Chelsea 2-1` may be Chelsea’s goals first.
  return sides.length === 0 || sides[0] === wonBy
    ? `${home}-${away}`
    : problem('selection', 'a score with the home team’s goals first, such as 1-2')
}

/** The side that was backed: the selection’s, or the one of `Arsenal to win`, answered with yes. */
function readSide({ all, selection }: Reading, type: MarketType): string | TrackerProblem {
  const [side, answers] = [single(all('side')), all('answer').join()]
  const isAnswered = answers === (selection.values('side').length > 0 ? '' : 'yes')
  if (side === undefined || !isAnswered) return NO_SELECTION
  return type === 'dnb' && side === 'draw' ? problem('selection', 'home or away') : side
}

/** A bet that has no line: a total of zero is how some files leave the cell empty. */
function readWithoutLine(reading: Reading, type: MarketType): Backed | TrackerProblem {
  const { cell, market, selection } = reading
  const isLineless =
    [...market.lines, ...selection.lines].length === 0 && cell.lines.every(({ line }) => line === 0)
  if (!isLineless) return problem('line', 'no line: the market that the row names has none')
  const readers = { btts: readAnswer, cs: readScore, dc: readDoubleChance }
  const backed = (ownValue(readers, type) ?? readSide)(reading, type)
  return typeof backed === 'string' ? { type, selection: backed } : backed
}

const WHICH_WAY = problem('market', 'Moneyline, or 3-way: this name may be either', 'unclear')

/** What a side without a line is on, by the market's name, the sport and the part of the match. */
function sideType({ all, sport }: Reading, type: string | undefined): MarketType | TrackerProblem {
  const isDraw = all('side').includes('draw')
  const isPart = all('period').some((period) => /^[hqpfi]\d/.test(period))
  if (type === 'dc' || type === 'dnb' || type === '1x2') return type
  if (isDraw || (canDraw(sport) && type !== 'ml')) return '1x2'
  if (canDraw(sport) || type === 'ml' || type === 'h2h')
    // A moneyline of regulation is sold with the draw and without it.
    return all('period').includes('reg') && !canDraw(sport) ? WHICH_WAY : 'ml'
  if (all('period').includes('reg')) return '1x2'
  return isPart || (type === 'result' && sport === 'ice_hockey') ? WHICH_WAY : 'ml'
}

/** `Lions -110` is a price. */
const AMERICAN_ODDS_MIN = 100

function readHandicap(reading: Reading, type: string | undefined): Backed | TrackerProblem {
  const { all, cell, market, selection, sport } = reading
  const side = single(all('side'))
  if (all('side').includes('draw')) return WITH_DRAW_HANDICAP
  const isBacked = selection.values('side').length > 0 && all('answer').length === 0
  if (side === undefined || !isBacked) return NO_SELECTION
  const isOwn = selection.lines.length > 0
  const isFromHome = isOwn && side === 'away'
  const isSame = (line: number, other: number) => line === other || (isFromHome && line === -other)
  const found = lineIn(reading, isSame, 'the handicap of the team that was backed')
  if ('expected' in found) return found
  const { isSigned, line } = found
  const isOfMarket = cell.lines.length === 0 && !isOwn && market.values('side').length === 0
  // `Asian Handicap -0.5` names both sides' market: whether Chelsea then has -0.5 or +0.5, no file says.
  if (canDraw(sport) && isOfMarket && side === 'away' && line !== 0)
    return problem(
      'line',
      'the line beside the team that was backed: the market’s may be the home team’s',
      'unclear',
    )
  // A sheet's column of lines drops the plus of a number; a column that no market explains may hold anything.
  const isWritten = isOwn || market.lines.length > 0
  if (!isSigned && !(isWritten ? line === 0 : type !== undefined))
    return problem('line', 'a handicap with its sign, + or -', 'unclear')
  if (Math.abs(line) >= AMERICAN_ODDS_MIN) return problem('line', 'a handicap, not a price')
  if (canDraw(sport) && type !== 'ah' && Number.isInteger(line) && line !== 0)
    return problem(
      'market',
      'Asian handicap: with a whole line “Handicap” may be one with a draw',
      'unclear',
    )
  // Adding zero makes a zero of -0.
  const home = (side === 'home' ? line : -line) + 0
  return { type: canDraw(sport) ? 'ah' : 'spread', selection: side, line: home }
}

/** What was backed, by the market that the texts name. */
function readBacked(reading: Reading): Backed | TrackerProblem {
  const { cell, market, selection, sport } = reading
  if (market.scores.length + cell.scores.length > 0)
    // `Handicap 0:1` gives a start, `1X2 (1-0)` says what stood when the bet was placed.
    return market.values('type').includes('handicap')
      ? WITH_DRAW_HANDICAP
      : notRecorded('a bet in play: a score is part of its name', 'in_play')
  const type = typeIn(reading)
  if (typeof type === 'object') return type
  const isNamed = ['type', 'over', 'unit'].some((name) => market.values(name).length > 0)
  if (market.values('side').length > 0 && !isNamed)
    return problem('market', 'a market: the name of a side is none')
  if (type === 'total' || type === 'team_total') return readTotal(reading, type)
  const hasLine = selection.lines.length + cell.lines.length > 0
  if (type === 'handicap' || type === 'ah' || (hasLine && type === undefined))
    return readHandicap(reading, type)
  if (type === 'btts' || type === 'cs') {
    const name = type === 'cs' ? 'a correct score' : 'both teams to score'
    return canDraw(sport) ? readWithoutLine(reading, type) : notRecorded(`${name} in this sport`)
  }
  const named = sideType(reading, type)
  return typeof named === 'string' ? readWithoutLine(reading, named) : named
}

/** Reads a bet. Never throws. */
export function readBet(bet: Bet): Market | TrackerProblem {
  const reading = readTexts(bet)
  if ('expected' in reading) return reading
  if (bet.selection.trim() === '') return NO_SELECTION
  const backed = readBacked(reading)
  if ('expected' in backed) return backed
  const period = periodIn(reading, backed.type)
  const strange = unitProblem(reading, backed)
  if (strange !== undefined || typeof period !== 'string')
    return strange ?? (period as TrackerProblem)
  return { ...backed, period }
}

/** What columns beside the market say of it, as far as the selection does not say the same; a problem if they name another team. */
function partsBeside({ hints }: TrackerCells, bet: Bet): readonly string[] | TrackerProblem {
  const { selection, sport, teams } = bet
  const sideIn = (text: string) => teams && sideNamed(sport, text, teams)
  const said = plainText(selection).trim()
  // A column such as `Bet` may have the stake.
  const again = hints('again').filter((text) => /\p{L}/u.test(text))
  const lines = hints('lines').filter((text) => Number(text) !== 0)
  const parts = [...new Set([...hints('part'), ...again, ...lines])].filter(
    (text) => text !== '' && plainText(text).trim() !== said,
  )
  const backed = teams && backedSide(sport, selection, teams)
  return parts.some((text) => (sideIn(text) ?? backed) !== backed)
    ? problem(
        'market',
        'a bet that names its team: another column names one, and the bet does not',
        'unclear',
      )
    : parts.filter((text) => sideIn(text) === undefined)
}

/** Meanings that make a bet another one; a result such as `Win` says only how it ended. */
const MAKES_ANOTHER = /^(?:type:(?!winner|result|h2h)|period:(?!full)|unit:)/
/** Words that a match has as well as a market: the stage of a season. */
const SAID_OF_MATCHES = new Set(phrases.saidOfMatches.split(' | '))
/** Flags such as `Y` and `E` are words of some language. */
const LETTERS_MIN = 4
const CHARACTERS_MAX = 40

function isMarketName(text: string): boolean {
  if (!/\p{L}/u.test(text) || SAID_OF_MATCHES.has(plainText(text).trim())) return false
  const said = readWords(text, { sport: '', teams: undefined })
  // Kinds of bets are bet-kind.ts's.
  const isOfMarkets = said.notRecorded.every(({ code }) => code === 'other_market')
  if (said.unknown.length > 0 || !isOfMarkets) return false
  const isRefused = said.notRecorded.length > 0 && text.length >= LETTERS_MIN
  return isRefused || said.means.some((means) => MAKES_ANOTHER.test(means))
}

/** Tells the names of markets among the tags and notes of a file, which are few and repeated. */
export function createNameCheck(): (text: string) => boolean {
  const known = new Map<string, boolean>()
  return (text) => getOrMake(known, text, () => isMarketName(text))
}

/** `Soccer - Match Odds`: the sport before the market says nothing more. */
function withoutSport(market: string, sport: string): string {
  const [, named = '', rest = ''] = /^(.+?)\s*[-–—:/|]\s*(.+)$/.exec(market) ?? []
  return sportNamed(named) === sport ? rest : market
}

/**
 * Reads a row's bet with the columns beside it: parts of the market's name are read with it. `beside` is a cell or a tag that
 * is the name of a market or of a part of the match, and would make the bet another one.
 */
export function readRowBet(
  row: TrackerCells,
  own: Bet,
  isName: ReturnType<typeof createNameCheck>,
): (Market & { readonly beside: string | undefined }) | TrackerProblem {
  const parts = partsBeside(row, own)
  if ('expected' in parts) return parts
  const names = [withoutSport(own.market, own.sport), ...parts].filter((part) => part !== '')
  const bet = { ...own, market: names.join(' ') }
  const read = readBet(bet)
  if ('expected' in read) return read
  const isAnother = (name: string): boolean =>
    !isDeepStrictEqual(readBet({ ...bet, market: `${bet.market} ${name}` }), read)
  const beside = [...row.hints('tags'), ...row.others]
    .flatMap(splitTags)
    .filter((tag) => tag.length <= CHARACTERS_MAX)
    .find((tag) => isName(tag) && isAnother(tag))
  return { ...read, beside }
}
