/**
 * Decides which of the ledger's events a feed means. An id made of day and teams cannot tell a postponed match, or two
 * matches on one day; the feed's own id can. What others file between this and the write is found there (filing.ts).
 */

import { hash } from 'node:crypto'
import { isoDay } from '@tallystick/service-kit/clock'
import type { EventInfo } from '../domain/closes/event-state.ts'
import type { GradingStore } from '../domain/closes/grading-store.ts'
import type { Observation } from '../domain/closes/observation.ts'
import { plainText, teamKey, wordsIn } from '../domain/markets/team-names.ts'

/** Matches of one pair of teams to look at, newest first: several seasons of a league. */
const MATCHES_MAX = 100

/** For a source without ids: starts further apart than this are different matches, seconds. */
const SAME_MATCH_SECONDS_MAX = 4 * 3_600

const isSamePair = (left: EventInfo, right: EventInfo): boolean =>
  left.sport === right.sport && left.home === right.home && left.away === right.away

/** Whether an event under exactly this path is the match, when its feed's id does not decide. */
function mayBe(known: EventInfo, info: EventInfo): boolean {
  if (known.feedId !== undefined) return false
  if (known.startPrecision === 'day' || info.startPrecision === 'day') return true
  return Math.abs(known.startAtSeconds - info.startAtSeconds) <= SAME_MATCH_SECONDS_MAX
}

/** The match's path: its known one if the feed's id is known, otherwise the first free one. */
function pathAmong(known: readonly EventInfo[], info: EventInfo): string {
  const same = known.find(({ feedId }) => feedId === info.feedId)
  if (same !== undefined) return same.path
  for (let game = 1; ; game += 1) {
    const path = game === 1 ? info.path : `${info.path}.${game}`
    const there = known.find((candidate) => candidate.path === path)
    if (there === undefined || mayBe(there, info)) return path
  }
}

/** The observations, with the paths under which the ledger files their events. */
export async function matchFeedEvents(
  store: Pick<GradingStore, 'searchEvents'>,
  observations: readonly Observation[],
): Promise<readonly Observation[]> {
  const met: EventInfo[] = []
  const matched: Observation[] = []
  for (const observation of observations) {
    const { event } = observation
    if (event.feedId === undefined) {
      matched.push(observation)
      continue
    }
    const { sport } = event
    const teams = { home: [teamKey(event.home)], away: [teamKey(event.away)] }
    const filed = await store.searchEvents({ sport, teams, words: [], limit: MATCHES_MAX })
    const known = [...met, ...filed.map(({ info }) => info)].filter((candidate) =>
      isSamePair(candidate, event),
    )
    const info = { ...event, path: pathAmong(known, event) }
    met.push(info)
    matched.push({ ...observation, event: info })
  }
  return matched
}

/** Characters of the hash that replaces a name without letters: enough to avoid collisions within a league. */
const HASH_CHARACTERS = 8

/**
 * A name as ids write it: lower case, no accents, dashes for everything else. Letters of other scripts stay: without them
 * two matches of a league on one day would share an id.
 */
export function nameSlug(name: string): string {
  const slug = wordsIn(plainText(name)).join('-')
  return slug === '' && name.trim() !== ''
    ? `x${hash('sha256', name).slice(0, HASH_CHARACTERS)}`
    : slug
}

/** An event's id from its feed's names: `england-1.20240423.arsenal-chelsea`. */
export function eventSlug(event: {
  readonly league: string
  readonly daySeconds: number
  readonly home: string
  readonly away: string
}): string {
  const date = isoDay(event.daySeconds).replaceAll('-', '')
  return `${nameSlug(event.league)}.${date}.${nameSlug(event.home)}-${nameSlug(event.away)}`
}
