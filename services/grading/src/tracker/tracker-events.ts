/** The teams of a bet, in whichever column a tracker writes them. */
import { isKnownTeam } from '../domain/team-names.ts'
import type { TrackerField } from './tracker-columns.ts'

export type Teams = { readonly home: string; readonly away: string }

/** ` v `, ` vs. `, ` - `. */
const SEPARATOR = /\s+(v|vs|versus|-|–|—|@|at)\.?\s+/i
/** Sports whose teams are known by name. */
export const SPORTS = [
  'soccer',
  'american_football',
  'baseball',
  'basketball',
  'ice_hockey',
] as const

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
