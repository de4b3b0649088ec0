/**
 * Which event of the ledger a feed means. An id made of day and teams says neither that a match was put off to another day
 * nor that there are two on one; the feed's own id says both. Two processes that take in the first payload of a match at
 * one moment could still file it twice; both events would be true, and the poller runs in one process.
 */

import { hash } from 'node:crypto'
import type { EventInfo } from '../domain/event-state.ts'
import { searchWords } from '../domain/find-events.ts'
import type { GradingStore } from '../domain/grading-store.ts'
import type { Observation } from '../domain/observation.ts'
import { isoDay } from '../wire/times.ts'

/** Matches of one pair of teams that are looked at, the newest first: some seasons of a league. */
const MATCHES_MAX = 100

/** A source without ids of its own means another match where the starts are further apart, seconds. */
const SAME_MATCH_SECONDS_MAX = 4 * 3_600

const isSamePair = (one: EventInfo, other: EventInfo): boolean =>
  one.sport === other.sport && one.home === other.home && one.away === other.away

/** Whether an event under this very path is the match, where its feed's id does not say it. */
function mayBe(known: EventInfo, info: EventInfo): boolean {
  if (known.feedId !== undefined) return false
  if (known.startPrecision === 'day' || info.startPrecision === 'day') return true
  return Math.abs(known.startAtSeconds - info.startAtSeconds) <= SAME_MATCH_SECONDS_MAX
}

/** The path of the match among those known: its own where the feed's id is known, else the first that is free. */
function pathAmong(known: readonly EventInfo[], info: EventInfo): string {
  const same = known.find(({ feedId }) => feedId === info.feedId)
  if (same !== undefined) return same.path
  for (let game = 1; ; game += 1) {
    const path = game === 1 ? info.path : `${info.path}.${game}`
    const there = known.find((one) => one.path === path)
    if (there === undefined || mayBe(there, info)) return path
  }
}

/** The observations with the paths under which the ledger has, or gets, their events. */
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
    const words = [...new Set(searchWords(`${event.home} ${event.away}`))]
    const { sport } = event
    const filed =
      words.length === 0
        ? []
        : await store.searchEvents({ sport, words, isWholeWords: true, limit: MATCHES_MAX })
    const known = [...met, ...filed].filter((one) => isSamePair(one, event))
    const info = { ...event, path: pathAmong(known, event) }
    met.push(info)
    matched.push({ ...observation, event: info })
  }
  return matched
}

/** Latin letters that are no letter with an accent, as their languages write them without. */
const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
}

/** Characters of the hash that stands for a name without any letter: enough that no two in a league meet. */
const HASH_CHARACTERS = 8

/**
 * A name as ids write it: lower case, no accents, dashes for everything else. Letters of other scripts stay as they are:
 * without them two matches of a league on one day would have one id.
 */
export function nameSlug(name: string): string {
  const slug = name
    .normalize('NFD')
    .replace(/\p{Diacritic}/gu, '')
    .toLowerCase()
    .replace(/[ßæœøłđðþı]/g, (letter) => PLAIN_LETTERS[letter] ?? letter)
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')
  return slug === '' && name.trim() !== ''
    ? `x${hash('sha256', name).slice(0, HASH_CHARACTERS)}`
    : slug
}

/** The id of an event from what its feed calls it: `england-1.20240423.arsenal-chelsea`. */
export function eventSlug(event: {
  readonly league: string
  readonly daySeconds: number
  readonly home: string
  readonly away: string
}): string {
  const date = isoDay(event.daySeconds).replaceAll('-', '')
  return `${nameSlug(event.league)}.${date}.${nameSlug(event.home)}-${nameSlug(event.away)}`
}
