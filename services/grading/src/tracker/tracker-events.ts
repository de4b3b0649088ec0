/** The teams of a bet, in whichever column a tracker writes them. */
import { isKnownTeam, isOfOtherTeams, isSameTeam, sportNamed } from '../domain/team-names.ts'
import { splitTags, type TrackerCells, type TrackerField } from './tracker-columns.ts'

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
/** Sports whose teams are known by name. */
const SPORTS = ['soccer', 'american_football', 'baseball', 'basketball', 'ice_hockey'] as const

/** The sport by the row's words, or by the teams where the file has none or only "Football". */
export function sportOf(
  cell: (field: TrackerField) => string,
  teams: Teams | undefined,
): string | undefined {
  const named = sportNamed(cell('league')) ?? sportNamed(cell('sport'))
  if (named !== undefined) return named
  const word = cell('sport').toLowerCase()
  if (word !== '' && word !== 'football') return undefined
  const known = SPORTS.filter(
    (sport) =>
      teams !== undefined && isKnownTeam(sport, teams.home) && isKnownTeam(sport, teams.away),
  )
  if (known.length > 1) return undefined
  return known[0] ?? 'soccer'
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
  /** The market, where the same cell has it. */
  readonly market: string | undefined
}

const AWAY_FIRST = /\s(?:@|at)\s/i

/** The sides of two teams: `@` and `at` name the away team first. */
const sidesOf = (first: string, second: string, separator: string | undefined): Teams =>
  separator === '@' || separator?.toLowerCase() === 'at'
    ? { home: second, away: first }
    : { home: first, away: second }

const isKnown = (name: string): boolean => SPORTS.some((sport) => isKnownTeam(sport, name))

function pairOf(text: string): Teams | undefined {
  const [first, separator, second, ...more] = text.split(SEPARATOR)
  if (first !== undefined && second !== undefined && more.length === 0)
    return sidesOf(first, second, separator)
  // `Arsenal-Chelsea`, but not `Go-Ahead`: both must be known.
  const [one = '', other = '', ...rest] = text.split(/[-–/]/)
  const isPair = rest.length === 0 && isKnown(one) && isKnown(other)
  return isPair ? { home: one.trim(), away: other.trim() } : undefined
}

const eventOf = ({ home, away }: Teams): string => `${home} v ${away}`

/** The event of a row by its columns. */
export function teamsOf(cell: (field: TrackerField) => string): Event {
  const [home, away, written] = [cell('home'), cell('away'), cell('event')]
  if (home !== '' && away !== '')
    return {
      teams: { home, away },
      isSided: true,
      event: eventOf({ home, away }),
      market: undefined,
    }
  const exchange = EXCHANGE_MARKET.exec(written === '' ? cell('market') : written)
  const text = (exchange?.[1] ?? written).replace(LEADING_TIME, '').trim()
  const teams = pairOf(text)
  // A single word would pass for an id.
  const event = teams === undefined ? (text.includes(' ') ? text : '') : eventOf(teams)
  return { teams, isSided: AWAY_FIRST.test(text), event, market: exchange?.[2] }
}

/**
 * The event inside a text such as `Dodgers ML Los Angeles Dodgers @ Arizona Diamondbacks`, with the rest as the selection:
 * the longest known team before the separator, and a known team after it.
 */
export function eventIn(
  text: string,
): (Omit<Event, 'market'> & { readonly selection: string }) | undefined {
  const [before = '', separator, after, ...more] = text.split(SEPARATOR)
  if (after === undefined || more.length > 0 || !isKnown(after)) return undefined
  const words = before.split(/\s+/)
  for (let at = 0; at < words.length; at += 1) {
    const name = words.slice(at).join(' ')
    if (!isKnown(name)) continue
    const teams = sidesOf(name, after, separator)
    return {
      teams,
      isSided: AWAY_FIRST.test(text),
      event: eventOf(teams),
      selection: words.slice(0, at).join(' '),
    }
  }
  return undefined
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
