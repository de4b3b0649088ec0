/**
 * One match, two feeds: an observation of a match that another feed filed joins that event (G15), so nobody gets a second
 * event for it with a close of their own choosing. Day, both names and the league must agree; a partial match is reported to
 * the operator and filed by itself. A feed's own matches are never joined with each other.
 */

import { isoDay } from '@tallystick/service-kit/clock'
import { ownName } from '../domain/closes/apply-entry.ts'
import type { EventInfo, EventState } from '../domain/closes/event-state.ts'
import type { GradingStore } from '../domain/closes/grading-store.ts'
import type { Observation } from '../domain/closes/observation.ts'
import { isSameLeague, teamKeys } from '../domain/markets/team-names.ts'

/** Two events that may be one match. */
export type AlikeEvents = {
  /** Where the observation was filed. */
  readonly event: string
  /** The event that it may also be. */
  readonly like: readonly string[]
}

const SECONDS_PER_HOUR = 3_600
/** How far apart two feeds' starts of one match may be, seconds: a day is less exact than a time. */
const WINDOW_SECONDS = 60 * SECONDS_PER_HOUR
/** Two times of one match differ by less than this, the time between two matches on one day; seconds. */
const SAME_MATCH_SECONDS_MAX = 4 * SECONDS_PER_HOUR
/** Matches of a pair within the window: a series of a week. */
const NEAR_MAX = 20

/** American sports, whose tables give the local day: an evening there is the next day in UTC. */
const AMERICAN: ReadonlySet<string> = new Set([
  'american_football',
  'baseball',
  'basketball',
  'ice_hockey',
])
const AMERICAN_DAY_SECONDS = -7 * SECONDS_PER_HOUR
/** British tables give the local day: an hour ahead of UTC in summer. */
const BRITISH_DAY_SECONDS = SECONDS_PER_HOUR

/** Sports in which a pair meets on consecutive days: another day is another match. */
const IN_SERIES: ReadonlySet<string> = new Set(['baseball', 'basketball', 'ice_hockey'])

type Store = Pick<GradingStore, 'events' | 'searchEvents'>

/** The days by which tables may name a match. */
function possibleDays({ sport, startAtSeconds, startPrecision }: EventInfo): readonly string[] {
  if (startPrecision === 'day') return [isoDay(startAtSeconds)]
  if (AMERICAN.has(sport)) return [isoDay(startAtSeconds + AMERICAN_DAY_SECONDS)]
  return [isoDay(startAtSeconds), isoDay(startAtSeconds + BRITISH_DAY_SECONDS)]
}

function isSameTime(left: EventInfo, right: EventInfo): boolean {
  if (left.startPrecision === 'second' && right.startPrecision === 'second')
    return Math.abs(left.startAtSeconds - right.startAtSeconds) <= SAME_MATCH_SECONDS_MAX
  const days = possibleDays(right)
  return possibleDays(left).some((day) => days.includes(day))
}

const isMadeUp = (path: string): boolean => path.includes('/synthetic')

/** The pair's events near the time, whoever filed them; for a feed with ids also events moved far away. */
async function eventsNear(store: Store, event: EventInfo): Promise<readonly EventState[]> {
  const { away, home, sport, startAtSeconds } = event
  const teams = { home: teamKeys(sport, home), away: teamKeys(sport, away) }
  const window = {
    from: startAtSeconds - WINDOW_SECONDS,
    to: startAtSeconds + WINDOW_SECONDS,
  }
  const search = event.feedId === undefined ? window : {}
  const states = await store.searchEvents({ sport, teams, ...search, words: [], limit: NEAR_MAX })
  return states.filter(({ info }) => isMadeUp(info.path) === isMadeUp(event.path))
}

type Joined = { readonly path: string; readonly like: readonly string[] }

async function joinEvent(store: Store, feed: string, event: EventInfo): Promise<Joined> {
  const alone = { path: event.path, like: [] }
  const near = await eventsNear(store, event)
  const name = ownName(event)
  const known = near.find(({ feeds }) => feeds[feed] === name)
  if (known !== undefined) return { path: known.info.path, like: [] }
  // For this feed, the others are different matches.
  const free = near.filter(({ feeds }) => feeds[feed] === undefined).map(({ info }) => info)
  const then = free.filter((info) => isSameTime(info, event))
  const same = then.filter(({ league, sport }) => isSameLeague(sport, league, event.league))
  const [match, ...others] = same
  if (match !== undefined && others.length === 0) return { path: match.path, like: [] }
  if (then.length > 0) return { ...alone, like: then.map(({ path }) => path) }
  if (IN_SERIES.has(event.sport)) return alone
  const soon = free.filter(
    ({ startAtSeconds }) => Math.abs(startAtSeconds - event.startAtSeconds) <= WINDOW_SECONDS,
  )
  return { ...alone, like: soon.map(({ path }) => path) }
}

/** The observations under the paths that other feeds filed, and similar events that were not joined. */
export async function joinFeeds(options: {
  readonly store: Store
  readonly feed: string
  readonly observations: readonly Observation[]
}) {
  const { feed, observations, store } = options
  const states = await store.events(observations.map(({ event }) => event.path))
  const joined: Observation[] = []
  const alike: AlikeEvents[] = []
  for (const [index, observation] of observations.entries()) {
    const { event } = observation
    const { path, like } =
      states[index] === undefined
        ? await joinEvent(store, feed, event)
        : { path: event.path, like: [] }
    if (like.length > 0) alike.push({ event: path, like })
    joined.push(
      path === event.path
        ? observation
        : { ...observation, event: { ...event, path, ownPath: event.path } },
    )
  }
  return { observations: joined, alike }
}
