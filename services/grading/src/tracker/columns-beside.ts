/**
 * What other columns say of a bet that its market and its selection do not (G19): parts of the market's name are read with
 * it, and a cell that may make the bet another one is asked about.
 */
import { isDeepStrictEqual } from 'node:util'
import { BoundedMap, getOrMake } from '@tallystick/service-kit'
import { isOfOtherTeams, plainText, sportNamed } from '../domain/team-names.ts'
import phrases from './market-phrases.json' with { type: 'json' }
import { readWords } from './market-words.ts'
import type { TrackerCells } from './tracker-columns.ts'
import { backedSide, sideNamed, type Teams } from './tracker-events.ts'
import { readBet } from './tracker-market.ts'
import { problem, type TrackerProblem } from './tracker-problem.ts'

const OTHER_TEAM = problem(
  'market',
  'a bet that names its team: another column names one, and the bet does not',
  'unclear',
)

/** A stake in a column such as `Bet`: no letters, and no sign of a line. */
const isAmount = (text: string): boolean => !/\p{L}/u.test(text)

/** What columns beside the market say of it, as far as the selection does not say the same; a problem if they name another team. */
export function partsBeside(
  { hints }: TrackerCells,
  bet: { readonly sport: string; readonly teams: Teams | undefined; readonly selection: string },
): readonly string[] | TrackerProblem {
  const { selection, sport, teams } = bet
  const said = plainText(selection).trim()
  const parts: string[] = []
  const lines = hints('lines').filter((text) => Number(text) !== 0)
  const again = hints('again').filter((text) => !isAmount(text))
  for (const text of new Set([...hints('part'), ...again, ...lines])) {
    if (text === '' || plainText(text).trim() === said) continue
    const side = teams && sideNamed(sport, text, teams)
    if (teams === undefined || side === undefined) parts.push(text)
    else if (backedSide(sport, selection, teams) !== side) return OTHER_TEAM
  }
  return parts
}

/** Meanings that make a bet another one; a result such as `Win` says only how it ended. */
const MAKES_ANOTHER = /^(?:type:(?!winner|result|h2h)|period:(?!full)|unit:)/
/** Words that a match has as well as a market: the stage of a season. */
const SAID_OF_MATCHES = new Set(phrases.saidOfMatches.split(' | '))
/** Flags such as `Y` and `E` are words of some language. */
const LETTERS_MIN = 4
const CHARACTERS_MAX = 40

function isMarketName(text: string): boolean {
  if (!/\p{L}/u.test(text) || text.length > CHARACTERS_MAX) return false
  if (SAID_OF_MATCHES.has(plainText(text).trim())) return false
  const words = readWords(text, { sport: '', teams: undefined, hasCodes: false })
  return (
    // Kinds of bets are bet-kind.ts's.
    words.every((word) =>
      word.kind === 'notRecorded' ? word.code === 'other_market' : word.kind !== 'unknown',
    ) &&
    words.some((word) =>
      word.kind === 'notRecorded'
        ? text.length >= LETTERS_MIN
        : word.kind === 'phrase' && word.means.some((means) => MAKES_ANOTHER.test(means)),
    )
  )
}

/** Cells of recent files that were looked at, below 200 bytes each: tags and notes are few and repeated. */
const KNOWN_MAX = 4_096
const known = new BoundedMap<string, boolean>(KNOWN_MAX)

const partsOf = (text: string): readonly string[] =>
  text.split(/[,;|#\n•·]+/).map((part) => part.trim())

/** A cell or a tag beside a bet that is the name of a market or of a part of the match, and would make the bet another one. */
export function marketBeside(
  { hints, others }: TrackerCells,
  bet: Parameters<typeof readBet>[0],
  read: ReturnType<typeof readBet>,
): string | undefined {
  const isAnother = (name: string): boolean =>
    !isDeepStrictEqual(readBet({ ...bet, market: `${bet.market} ${name}` }), read)
  return [...hints('tags'), ...others]
    .flatMap(partsOf)
    .find(
      (part) =>
        part.length <= CHARACTERS_MAX &&
        getOrMake(known, part, () => isMarketName(part)) &&
        isAnother(part),
    )
}

/** `Soccer - Match Odds`: the sport before the market says nothing more. */
export function withoutSport(market: string, sport: string): string {
  const [, named = '', rest = ''] = /^(.+?)\s*[-–—:/|]\s*(.+)$/.exec(market) ?? []
  return sportNamed(named) === sport ? rest : market
}

const WOMEN = /^(?:f|w|fem|wom)/i

/** The league of a row with what other cells say of its teams: `EPL Women`. */
export function leagueIn({ cell, hints, others }: TrackerCells): string {
  const teams = [...hints('tags').flatMap(partsOf), ...others].filter(isOfOtherTeams)
  const women = hints('gender').some((text) => WOMEN.test(text)) ? ['women'] : []
  return [cell('league') || cell('sport'), ...teams, ...women]
    .join(' ')
    .replace(/\p{C}/gu, ' ')
    .trim()
    .slice(0, 80)
}
