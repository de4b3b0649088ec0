/** The teams of a bet, in whichever column a tracker writes them. */
import {
  isKnownTeam,
  isOfOtherTeams,
  isSameTeam,
  sportNamed,
} from '../domain/markets/team-names.ts'
import { type Cell, splitTags, type TrackerCells } from './tracker-columns.ts'

export type Teams = { readonly home: string; readonly away: string }

/** The team whose name a text is. */
export function sideNamed(
  sport: string,
  text: string,
  { home, away }: Teams,
): 'home' | 'away' | undefined {
  const isHome = isSameTeam(sport, home, text)
  if (isHome === isSameTeam(sport, away, text)) return undefined
  return isHome ? 'home' : 'away'
}

/** The team whose name a text begins with: the longest name counts. */
export function backedSide(sport: string, text: string, teams: Teams): 'home' | 'away' | undefined {
  const words = text.trim().split(/\s+/)
  const named = words.map((_word, at) => sideNamed(sport, words.slice(0, at + 1).join(' '), teams))
  return named.findLast((side) => side !== undefined)
}

/** ` v `, ` vs. `, ` - `. */
const SEPARATOR = /\s+(v|vs|versus|-|–|—|@|at)\.?\s+/i
/** Sports whose fixtures are written with the away team first, whatever stands between the two. */
const AWAY_FIRST = ['american_football', 'baseball', 'basketball', 'ice_hockey']
/** Sports whose teams are known by name. */
const SPORTS = ['soccer', ...AWAY_FIRST]

export const isAwayFirst = (sport: string): boolean => AWAY_FIRST.includes(sport)

/** The sport by the row's words, or by the teams where the file has none or only "Football". */
export function sportIn(cell: Cell, teams: Teams | undefined): string | undefined {
  const named = sportNamed(cell('league')) ?? sportNamed(cell('sport'))
  if (named !== undefined) return named
  const word = cell('sport').toLowerCase()
  if (word !== '' && word !== 'football') return undefined
  const known = SPORTS.filter(
    (sport) =>
      teams !== undefined && isKnownTeam(sport, teams.home) && isKnownTeam(sport, teams.away),
  )
  return known.length > 1 ? undefined : (known[0] ?? 'soccer')
}

/** `Football / Arsenal v Chelsea : Match Odds`, as an exchange writes a market. */
const EXCHANGE_MARKET = /^[^/:]+\/\s*([^:]+?)\s*:\s*(.+)$/
/** `19:00 BOS @ NYY`. */
const LEADING_TIME = /^\d{1,2}:\d{2}\s+/

type Event = {
  readonly teams: Teams | undefined
  /** Whether the row says who plays at home: in columns of its own, or with `@` or `at`. */
  readonly isSided: boolean
  /** What the API takes as an event; empty if the file names none. */
  readonly event: string
}

const isKnown = (name: string): boolean => SPORTS.some((sport) => isKnownTeam(sport, name))

/** The event of two teams: `@` and `at` name the away team first. */
function eventBetween(first: string, second: string, separator = ''): Event {
  const isSided = /^(?:@|at)$/i.test(separator)
  const [home, away] = isSided ? [second, first] : [first, second]
  return { teams: { home, away }, isSided, event: `${home} v ${away}` }
}

function eventIn(text: string): Event {
  const [first, separator, second, ...more] = text.split(SEPARATOR)
  if (first !== undefined && second !== undefined && more.length === 0)
    return eventBetween(first, second, separator)
  // `Arsenal-Chelsea`, but not `Go-Ahead`: both must be known.
  const [left = '', right = '', ...rest] = text.split(/[-–/]/)
  if (rest.length === 0 && isKnown(left) && isKnown(right))
    return eventBetween(left.trim(), right.trim())
  // A single word would pass for an id.
  return { teams: undefined, isSided: false, event: text.includes(' ') ? text : '' }
}

/**
 * The event inside a selection such as `Dodgers ML Los Angeles Dodgers @ Arizona Diamondbacks`, with the rest as the
 * selection: the longest known team before the separator, and a known team after it.
 */
function eventBeside(text: string): (Event & { readonly selection: string }) | undefined {
  const [before = '', separator, after, ...more] = text.split(SEPARATOR)
  if (after === undefined || more.length > 0 || !isKnown(after)) return undefined
  const words = before.split(/\s+/)
  const at = words.findIndex((_word, index) => isKnown(words.slice(index).join(' ')))
  if (at === -1) return undefined
  const name = words.slice(at).join(' ')
  return { ...eventBetween(name, after, separator), selection: words.slice(0, at).join(' ') }
}

/** The event of a row by its columns, with the selection, and the market where the event's cell has it. */
export function readEvent(
  cell: Cell,
): Event & { readonly selection: string; readonly market: string | undefined } {
  const [home, away, written, selection] = (['home', 'away', 'event', 'selection'] as const).map(
    cell,
  ) as [string, string, string, string]
  if (home !== '' && away !== '')
    return { ...eventBetween(home, away), isSided: true, selection, market: undefined }
  const exchange = EXCHANGE_MARKET.exec(written || cell('market'))
  const found = eventIn((exchange?.[1] ?? written).replace(LEADING_TIME, '').trim())
  const beside = found.event === '' ? eventBeside(selection) : undefined
  return { selection, ...found, ...beside, market: exchange?.[2] }
}

const WOMEN = /^(?:f|w|fem|wom)/i

/** The league of a row with what other cells say of its teams: `EPL Women`. */
export function leagueIn({ cell, hints, others }: TrackerCells): string {
  const teams = [...hints('tags').flatMap(splitTags), ...others].filter(isOfOtherTeams)
  const women = hints('gender').some((text) => WOMEN.test(text)) ? ['women'] : []
  return [cell('league') || cell('sport'), ...teams, ...women]
    .join(' ')
    .replace(/\p{C}/gu, ' ')
    .trim()
    .slice(0, 80)
}
